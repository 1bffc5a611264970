// @alone: what it uses up of the platform's counters stays used up for a minute.
import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import { call, callJson } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'

const address = '192.0.2.77'
let count = 0
const addKey = async () => {
  const principal = `limited-${(count += 1)}`
  const { key } = await callJson('/api/operator/keys', { json: { principal, role: 'user' } })
  return { principal, key: String(key) }
}
const as = (key: string, path: string, json?: object) => {
  const headers = new Headers({ authorization: `Bearer ${key}`, 'cf-connecting-ip': address })
  return call(path, { headers, ...(json && { json }) })
}
/** Takes what is left of a minute, as many requests would. */
async function useUp(counter: RateLimit, what: string): Promise<void> {
  const key = `${sha256(env.ISOLA_OPERATOR_KEY).slice(0, 16)} ${what}`
  while ((await counter.limit({ key })).success);
}
/** A new minute may begin at any moment: then once more. */
const told = (ask: () => Promise<Response>, counter: RateLimit, what: string) =>
  vi.waitFor(
    async () => {
      await useUp(counter, what)
      const response = await ask()
      expect(response.status).toBe(429)
      const { error } = (await response.json()) as { error: { code: string } }
      return [error.code, response.headers.get('retry-after')]
    },
    { timeout: 60_000, interval: 100 },
  )

describe('T27: the platform counts', () => {
  it('new sessions of a principal: more are refused before an object is touched', async () => {
    const { key, principal } = await addKey()
    const create = () => as(key, '/api/sessions', {})
    expect((await create()).status).toBe(201)
    const spent = await told(create, env.SESSION_LIMIT, principal)
    expect(spent).toEqual(['rate_limited', '60'])
    // Others make theirs, and this one goes on reading.
    expect((await as((await addKey()).key, '/api/sessions', {})).status).toBe(201)
    expect((await as(key, '/api/sessions')).status).toBe(200)
  })

  it('requests of a principal, whatever they ask', async () => {
    const { key, principal } = await addKey()
    const ask = () => as(key, '/v1/models')
    expect((await ask()).status).toBe(200)
    expect(await told(ask, env.REQUEST_LIMIT, principal)).toEqual(['rate_limited', '60'])
    expect((await call('/v1/models')).status).toBe(200)
  })

  it('keys that were never let in, by network; a known principal goes on', async () => {
    const { key } = await addKey()
    expect((await as(key, '/v1/models')).status).toBe(200)
    const guess = () => as('isk_guess', '/v1/models')
    expect((await guess()).status).toBe(401)
    expect(await told(guess, env.STRANGER_LIMIT, address)).toEqual(['rate_limited', '60'])
    expect((await as(key, '/v1/models')).status).toBe(200)
  })
})
