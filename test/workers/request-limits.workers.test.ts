import { describe, expect, it } from 'vitest'
import { call, callJson } from '../fakes/client.ts'

let count = 0
const addKey = async (): Promise<string> => {
  const principal = `limited-${(count += 1)}`
  return (await callJson('/api/operator/keys', { json: { principal, role: 'user' } })).key
}
const as = (key: string, path: string, init: { readonly json?: object; session?: string } = {}) => {
  const { session, ...rest } = init
  const headers = new Headers({ authorization: `Bearer ${key}`, 'cf-connecting-ip': '192.0.2.77' })
  if (session !== undefined) headers.set('x-isola-session', session)
  return call(path, { ...rest, headers })
}
/** How many of so many are let in, and how the first that was not is told. */
async function letIn(most: number, ask: (index: number) => Promise<Response>) {
  let last = 0
  for (let index = 0; index < most; index += 1) {
    const response = await ask(index)
    if (response.status === 429) return { last, response }
    last = index + 1
    await response.body?.cancel()
  }
  return { last }
}

/** So many requests take a while on a busy machine. */
const timeout = 60_000

describe('T27: the platform counts', { timeout }, () => {
  it('new sessions of a principal: more are refused before an object is touched', async () => {
    const key = await addKey()
    const create = () => as(key, '/api/sessions', { json: {} })
    const { last, response } = await letIn(60, create)
    expect(last).toBeLessThanOrEqual(40)
    expect(await response?.json()).toMatchObject({ error: { code: 'rate_limited' } })
    expect(response?.headers.get('retry-after')).toBe('60')
    // Others make theirs, and this one goes on reading.
    expect((await as(await addKey(), '/api/sessions', { json: {} })).status).toBe(201)
    expect((await as(key, '/api/sessions')).status).toBe(200)
  })

  it('keys that nobody was let in with, by network; whoever is known goes on', async () => {
    const key = await addKey()
    expect((await as(key, '/v1/models')).status).toBe(200)
    const codes = new Set<string>()
    for (let index = 0; index < 130; index += 1) {
      const response = await as(`isk_guess_${index}`, '/v1/models')
      codes.add(((await response.json()) as { error: { code: string } }).error.code)
    }
    expect(codes).toEqual(new Set(['unauthenticated', 'login_limited', 'rate_limited']))
    expect((await as(key, '/v1/models')).status).toBe(200)
  })
})
