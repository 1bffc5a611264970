import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { roles } from '#contracts/keys.ts'
import { failureWindowMs } from '../../src/features/access/failed-logins.ts'
import type { Access } from '../../src/platform/routes/route.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { access, pathOf, routesOf } from '../fakes/routes.ts'
import { installUpstream } from '../fakes/upstream.ts'

const keysPath = '/api/operator/keys'
let upstream: ReturnType<typeof installUpstream>
beforeEach(() => (upstream = installUpstream(() => ({ text: 'done' }))))
afterEach(() => {
  upstream.restore()
  vi.restoreAllMocks()
  vi.useRealTimers()
})

let count = 0
const newName = (role = 'user') => `${role}-${(count += 1)}`
/** Failures are counted by address: each test has its own. */
const newAddress = () => `192.0.2.${(count += 1)}`
const addKey = (more: object = {}): Promise<Answer> =>
  callJson(keysPath, { json: { principal: newName(), role: 'user', ...more } })
type Init = Parameters<typeof call>[1] & { readonly address?: string }
const as = (key: string, path: string, { address, ...init }: Init = {}) => {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${key}`)
  headers.set('cf-connecting-ip', address ?? newAddress())
  return call(path, { ...init, headers })
}
const asJson = async (key: string, path: string, init?: Init): Promise<Answer> => {
  const response = await as(key, path, init)
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return response.json()
}
const statusOf = async (key: string, path = '/v1/models') => (await as(key, path)).status
/** All of an answer but what is of the one request. */
const told = async (response: Response) =>
  [response.status, (await response.text()).replace(/req_\w+/g, '')] as const
const recordsOf = async (query = 'session=deployment&limit=500'): Promise<Answer[]> =>
  (await callJson(`/api/operator/audit?${query}`)).records

/** The model cannot be reached, which takes a while to say. */
const patience = { timeout: 60_000, interval: 50 }

describe('a key', () => {
  it('I26: opens what its role may from the request after it was added', async () => {
    const { key } = await addKey()
    expect(await statusOf(key)).toBe(200)
    expect(await statusOf(key, '/api/operator/health')).toBe(403)
    const chat = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] }
    expect(await asJson(key, '/v1/chat/completions', { json: chat })).toMatchObject({
      choices: [{ message: { content: 'done' } }],
    })
  })

  it('T1: opens nothing from the request after it was revoked', async () => {
    const { key, id } = await addKey()
    expect(await statusOf(key)).toBe(200)
    await callJson(`${keysPath}/${id}/revoke`, { json: {} })
    expect(await statusOf(key)).toBe(401)
  })

  it('T1: begins no run with an outcome that comes after it was revoked', async () => {
    const gate = Promise.withResolvers<void>()
    upstream.restore()
    const input = { task: 'look', background: true, onOutcome: 'run' }
    upstream = installUpstream(({ messages }, index) => {
      if (String(messages.at(-1)?.content) === 'look') return { text: 'found', wait: gate.promise }
      return index === 0 ? { calls: [{ name: 'code-reviewer__run', input }] } : { text: 'started' }
    })
    const { key, id, principal } = await addKey()
    const other = await callJson(keysPath, { json: { principal } })
    const { id: session } = await asJson(key, '/api/sessions', { json: {} })
    const path = `/api/sessions/${session}`
    await asJson(key, `${path}/runs`, { json: { task: 'go', wait: true } })
    await callJson(`${keysPath}/${id}/revoke`, { json: {} })
    // The work ends with the key, and a note tells the next run so.
    await vi.waitFor(async () => {
      const { messages } = await asJson(other.key, `${path}/transcript`)
      expect(JSON.stringify(messages)).toContain(`revoked: the key ${id}`)
    })
    gate.resolve()
    expect((await asJson(other.key, path)).runs).toHaveLength(1)
    expect(upstream.requests).toHaveLength(3)
  })

  it('T1: is replaced with the next request when it is rotated, or after the time of grace', async () => {
    const first = await addKey()
    const second = await callJson(`${keysPath}/${first.id}/rotate`, { json: {} })
    expect([await statusOf(first.key), await statusOf(second.key)]).toEqual([401, 200])
    const third = await callJson(`${keysPath}/${second.id}/rotate`, { json: { graceMs: 60_000 } })
    expect([await statusOf(second.key), await statusOf(third.key)]).toEqual([200, 200])
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(Date.now() + 60_000)
    expect([await statusOf(second.key), await statusOf(third.key)]).toEqual([401, 200])
    expect(third.principal).toBe(first.principal)
  })

  it('ends when it expires', async () => {
    const { key } = await addKey({ expiresInMs: 60_000 })
    expect(await statusOf(key)).toBe(200)
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(Date.now() + 60_000)
    expect(await statusOf(key)).toBe(401)
  })

  it('T1: of which two were rotated out of the same one at the same time is one', async () => {
    const { id } = await addKey()
    const answers = await Promise.all(
      [1, 2, 3].map(() => call(`${keysPath}/${id}/rotate`, { json: {} })),
    )
    const made = answers.filter(({ status }) => status === 201)
    expect([made.length, answers.filter(({ status }) => status === 409).length]).toEqual([1, 2])
  })

  it('I28: is in no table and no record, nor is its hash but in the one column', async () => {
    const first = await addKey({ role: 'user', agents: ['orchestrator'] })
    const second = await callJson(`${keysPath}/${first.id}/rotate`, { json: {} })
    await as(first.key, '/v1/models')
    const { results } = await env.DB.prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'`,
    ).all<{ name: string }>()
    const dumps = await Promise.all(
      results.map(async ({ name }) => [
        name,
        JSON.stringify((await env.DB.prepare(`SELECT * FROM "${name}"`).all()).results),
      ]),
    )
    for (const secret of [first.key, second.key]) {
      for (const [name, dump] of dumps) {
        expect(dump, name).not.toContain(secret)
        if (name !== 'keys') expect(dump, name).not.toContain(sha256(secret))
      }
    }
  })

  it('F15: with the database away waits for it, while the operator key works', async () => {
    const { key } = await addKey()
    const statement = Object.getPrototypeOf(env.DB.prepare('SELECT 1')) as D1PreparedStatement
    for (const ask of ['first', 'all'] as const)
      vi.spyOn(statement, ask).mockRejectedValue(new Error('D1_ERROR: Network connection lost.'))
    for (const one of [key, 'isk_wrong']) {
      const response = await as(one, '/v1/models')
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
      expect(((await response.json()) as Answer).error.code).toBe('unavailable')
    }
    expect((await call('/v1/models')).status).toBe(200)
  })
})

describe('every route of the table', () => {
  const isFor = (allowed: Access, role: string) =>
    allowed === 'anyone' || allowed.some((one) => one === role)

  it('T1, I26: answers the roles it is for, and no request without a valid key', async () => {
    const expired = await addKey({ role: 'operator', expiresInMs: 1 })
    const revoked = await addKey({ role: 'operator' })
    await callJson(`${keysPath}/${revoked.id}/revoke`, { json: {} })
    const wrong = ['isk_wrong', '', expired.key, revoked.key, revoked.id, sha256(revoked.key)]
    const ofRoles = await Promise.all(
      roles.map(async (role) => [role, (await addKey({ role })).key] as const),
    )
    for (const { method, path, allowed } of routesOf(access)) {
      const address = newAddress()
      const send = (key: string) => as(key, pathOf(path), { method, address })
      for (const key of allowed === 'anyone' ? [] : wrong)
        expect((await send(key)).status, `${method} ${path}`).toBe(401)
      for (const [role, key] of ofRoles) {
        const response = await send(key)
        await response.body?.cancel()
        expect(response.status === 403, `${role}: ${method} ${path}`).toBe(!isFor(allowed, role))
        expect([401, 500]).not.toContain(response.status)
      }
    }
  })
})

describe("another principal's session", () => {
  it('I26, G10: answers like one that is not there, byte for byte, on every route', async () => {
    const [alice, bob] = [await addKey(), await addKey()]
    const { id: session } = await asJson(alice.key, '/api/sessions', { json: {} })
    const { id: run } = await asJson(alice.key, `/api/sessions/${session}/runs`, {
      json: { task: 'go', wait: true },
    })
    const bodies: Readonly<Record<string, object>> = {
      ':id': { persona: 'none' },
      runs: { task: 'x' },
      messages: { message: 'x' },
      decisions: { call: 'c', decision: 'deny' },
      cancel: {},
      limits: { maxTokens: 5 },
    }
    const routes = routesOf(access).filter(({ path }) => path.startsWith('/api/sessions/:id'))
    expect(routes.length).toBeGreaterThan(8)
    for (const { method, path } of routes) {
      const to = (id: string) => path.replace(':id', id).replace(':run', run)
      const json = bodies[path.split('/').at(-1)!]
      const init = { method, ...(method === 'POST' && { json: json ?? {} }) }
      const absent = await told(await as(bob.key, to(`ses_${'0'.repeat(22)}`), init))
      expect(absent[0], `${method} ${path}`).toBe(404)
      expect(await told(await as(bob.key, to(session), init))).toEqual(absent)
    }
    const chat = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] }
    const say = (id: string) =>
      as(bob.key, '/v1/chat/completions', { json: chat, headers: { 'x-isola-session': id } })
    expect(await told(await say(session))).toEqual(await told(await say(`ses_${'0'.repeat(22)}`)))
    // It is there still, and nothing was added to it.
    expect((await asJson(alice.key, `/api/sessions/${session}`)).runs).toHaveLength(1)
  })

  it('I26, G10: answers like one that is not there when a response of it is named', async () => {
    const [alice, bob] = [await addKey(), await addKey()]
    const ask = { model: 'orchestrator', input: 'Hi' }
    const { id } = await asJson(alice.key, '/v1/responses', { json: ask })
    const absent = `resp_${'0'.repeat(44)}`
    const tries = [
      (of: string) => as(bob.key, `/v1/responses/${of}`),
      (of: string) => as(bob.key, `/v1/responses/${of}`, { method: 'DELETE' }),
      (of: string) => as(bob.key, `/v1/responses/${of}/cancel`, { method: 'POST' }),
      (of: string) => as(bob.key, '/v1/responses', { json: { ...ask, previous_response_id: of } }),
    ]
    for (const one of tries) {
      const [status, body] = await told(await one(absent))
      expect([400, 404]).toContain(status)
      const [otherStatus, otherBody] = await told(await one(id))
      expect([otherStatus, otherBody.replaceAll(id, absent)]).toEqual([status, body])
    }
    expect((await as(alice.key, `/v1/responses/${id}`)).status).toBe(200)
  })

  it('T2: is not met by the same name, nor by the same idempotency key', async () => {
    const [alice, bob] = [await addKey(), await addKey()]
    const chat = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] }
    const say = async (key: string, headers: Record<string, string>) =>
      (await as(key, '/v1/chat/completions', { json: chat, headers })).headers.get(
        'x-isola-session',
      )
    for (const headers of [{ 'x-isola-session': 'mine' }, { 'idempotency-key': 'k' }]) {
      const ids = [await say(alice.key, headers), await say(bob.key, headers)]
      expect(new Set(ids).size).toBe(2)
      expect(await say(alice.key, headers)).toBe(ids[0])
    }
  })

  it('is no other run under the same idempotency key, whichever key of its own is shown', async () => {
    const first = await addKey()
    const { id } = await asJson(first.key, '/api/sessions', { json: {} })
    const second = await callJson(keysPath, { json: { principal: first.principal } })
    const init = { json: { task: 'go' }, headers: { 'idempotency-key': 'k' } }
    const { run } = await asJson(first.key, `/api/sessions/${id}/runs`, init)
    expect(await asJson(second.key, `/api/sessions/${id}/runs`, init)).toMatchObject({ run })
    const records = await vi.waitFor(async () => {
      const found = (await recordsOf(`session=${id}`)).filter(({ type }) => type === 'run_started')
      expect(found).toHaveLength(1)
      return found
    }, patience)
    expect(records[0].data).toMatchObject({ principal: first.principal, key: first.id })
  })

  it('is that of all keys of the same principal', async () => {
    const first = await addKey()
    const { id } = await asJson(first.key, '/api/sessions', { json: {} })
    const second = await callJson(keysPath, { json: { principal: first.principal } })
    expect(await statusOf(second.key, `/api/sessions/${id}`)).toBe(200)
  })
})

describe('the agents of a key', () => {
  it('I26: hold for sessions that were begun before they were narrowed', async () => {
    const { key, principal } = await addKey({ agents: ['orchestrator', 'code-reviewer'] })
    const begin = async (agent: string) =>
      (await asJson(key, '/api/sessions', { json: { agent } })).id as string
    const [allowed, lost] = [await begin('orchestrator'), await begin('code-reviewer')]
    const json = { agents: ['orchestrator'] }
    await callJson(`/api/operator/principals/${principal}`, { json })
    const start = (id: string) =>
      as(key, `/api/sessions/${id}/runs`, { json: { task: 'go', wait: true } })
    expect((await start(allowed)).status).toBe(200)
    expect(await told(await start(lost))).toEqual(await told(await start(`ses_${'0'.repeat(22)}`)))
  })
})

describe("a principal's own limits", () => {
  const runOf = async (key: string, more: object = {}): Promise<Answer> => {
    const { id } = await asJson(key, '/api/sessions', { json: {} })
    const json = { task: 'go', wait: true, ...more }
    return asJson(key, `/api/sessions/${id}/runs`, { json })
  }
  const setTokens = (principal: string, dailyTokens: number) =>
    callJson(`/api/operator/principals/${principal}`, { json: { limits: { dailyTokens } } })
  const usageOf = (principal: string): Promise<Answer> =>
    callJson(`/api/operator/usage?principal=${principal}`)

  it('E1, I12: end what it may spend in a day, with each of its keys', async () => {
    const { key, principal } = await addKey({ limits: { dailyTokens: 200_000 } })
    expect(await runOf(key)).toMatchObject({ state: 'completed' })
    await vi.waitFor(async () =>
      expect(await usageOf(principal)).toMatchObject({
        limits: { tokens: 200_000, costUsd: null },
        settled: { tokens: 110 },
        openRuns: 0,
      }),
    )
    await setTokens(principal, 110)
    const other = await callJson(keysPath, { json: { principal } })
    await expect(runOf(other.key)).rejects.toThrow(/429 .*insufficient_quota.*110 tokens/)
    expect(upstream.requests).toHaveLength(1)
  })

  it.each([
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/responses', { input: 'Hi' }],
    ['/v1/responses', { input: 'Hi', stream: true }],
    ['/v1/responses', { input: 'Hi', background: true }],
  ])('E1: used up, %s is 429 before anything is spent', async (path, body) => {
    const { key } = await addKey({ limits: { dailyTokens: 0 } })
    const refused = await as(key, path, { json: { model: 'orchestrator', ...body } })
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const { error } = (await refused.json()) as Answer
    expect(error.code).toBe('insufficient_quota')
    expect(upstream.requests).toHaveLength(0)
  })

  it('E1: keep nothing for a run that only waits for its client, and are asked again when it goes on', async () => {
    upstream.restore()
    upstream = installUpstream((_request, index) =>
      index === 0 ? { calls: [{ name: 'look', input: {} }] } : { text: 'done' },
    )
    const { key, principal } = await addKey({ limits: { dailyTokens: 200_000 } })
    const ask = (input: unknown, more: object = {}): Promise<Answer> => {
      const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }]
      return asJson(key, '/v1/responses', {
        json: { model: 'orchestrator', input, tools, ...more },
      })
    }
    const first = await ask('Hi')
    const atRest = (tokens: number, held: number) =>
      vi.waitFor(async () =>
        expect(await usageOf(principal)).toMatchObject({
          settled: { tokens },
          reserved: { tokens: held },
          openRuns: 0,
        }),
      )
    await atRest(110, 0)
    const answer = { type: 'function_call_output', call_id: first.output[0].call_id, output: 'x' }
    const second = await ask([answer], { previous_response_id: first.id })
    expect(second.status).toBe('completed')
    // What the session holds for its next run.
    await atRest(220, 50_000)
  })

  it('E1: are nothing to those who have none', async () => {
    const { key, principal } = await addKey()
    expect(await runOf(key)).toMatchObject({ state: 'completed' })
    expect(await usageOf(principal)).toMatchObject({
      limits: { tokens: null },
      settled: { tokens: 0 },
    })
  })

  it('E1: changed while a run goes on, hold for one that waited behind it', async () => {
    const gate = Promise.withResolvers<void>()
    upstream.restore()
    upstream = installUpstream((_request, index) => ({
      text: 'done',
      ...(index === 0 && { wait: gate.promise }),
    }))
    const { key, principal } = await addKey({ limits: { dailyTokens: 5_000_000 } })
    const { id } = await asJson(key, '/api/sessions', { json: {} })
    const start = (task: string): Promise<Answer> =>
      asJson(key, `/api/sessions/${id}/runs`, { json: { task } })
    const first = await start('one')
    const second = await start('two')
    await setTokens(principal, 0)
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(Date.now() + 5_000)
    gate.resolve()
    const resultOf = (run: string): Promise<Answer> =>
      vi.waitFor(async () => {
        const { result } = await asJson(key, `/api/sessions/${id}/runs/${run}`)
        expect(result).toBeDefined()
        return result
      })
    // What the first one had reserved is its own; the second one gets nothing any more, and waits for more.
    expect(await resultOf(first.run)).toMatchObject({ state: 'completed' })
    await vi.waitFor(async () =>
      expect(await asJson(key, `/api/sessions/${id}/runs/${second.run}`)).toMatchObject({
        state: 'parked',
        pauses: [{ kind: 'budget', reached: { code: 'lease_tokens' } }],
      }),
    )
  })
})

describe('failed logins', () => {
  it('T1: are 429 after thirty from one address, where a right key still opens', async () => {
    const address = newAddress()
    const { key } = await addKey()
    const fail = () => as('isk_wrong', '/v1/models', { address })
    for (let index = 0; index < 30; index += 1) expect((await fail()).status).toBe(401)
    const refused = await fail()
    expect([refused.status, ((await refused.json()) as Answer).error.code]).toEqual([
      429,
      'login_limited',
    ])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(500)
    expect((await as(key, '/v1/models', { address })).status).toBe(200)
    expect((await as('isk_wrong', '/v1/models', { address: newAddress() })).status).toBe(401)
  })

  it('T1: are counted on after a restart', async () => {
    const address = newAddress()
    const fail = async () => (await as('isk_wrong', '/v1/models', { address })).status
    for (let index = 0; index < 30; index += 1) await fail()
    await abortAllDurableObjects()
    expect(await fail()).toBe(429)
  })

  it('are on the record in a few rows, with whose key it was if it was one', async () => {
    // What the tests before this one were refused used up the record of their window.
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(Date.now() + failureWindowMs + 1)
    const address = newAddress()
    const { key, id, principal } = await addKey()
    await callJson(`${keysPath}/${id}/revoke`, { json: {} })
    for (let index = 0; index < 9; index += 1) await as(key, '/v1/models', { address })
    await as('isk_wrong', '/v1/models', { address })
    const records = (await recordsOf()).filter(({ data }) => data.address === address)
    expect(records).toMatchObject([
      {
        type: 'login_failed',
        session: '',
        run: '',
        principal: '',
        data: { count: 1, reason: 'revoked', key: id, owner: principal },
      },
      { type: 'login_failed', data: { count: 1, reason: 'unknown' } },
    ])
  })
})

describe('the record of keys', () => {
  it('has who added, rotated and revoked which, for an auditor to read', async () => {
    const auditor = await addKey({ role: 'auditor' })
    const first = await addKey({ agents: ['orchestrator'], limits: { dailyTokens: 5 } })
    const trace = 'cd'.repeat(16)
    const second = await callJson(`${keysPath}/${first.id}/rotate`, {
      json: {},
      headers: { traceparent: `00-${trace}-${'ab'.repeat(8)}-01` },
    })
    for (const _ of [1, 2]) await callJson(`${keysPath}/${second.id}/revoke`, { json: {} })
    await callJson(`/api/operator/principals/${first.principal}`, { json: { role: 'auditor' } })
    const path = '/api/operator/audit?session=deployment&limit=500'
    const { records } = await asJson(auditor.key, path)
    const about = records.filter(({ data }: Answer) => data.owner === first.principal)
    expect(about).toMatchObject([
      {
        type: 'key_added',
        principal: 'operator',
        data: { key: first.id, role: 'user', agents: ['orchestrator'], dailyTokens: 5 },
      },
      { type: 'key_rotated', trace, data: { key: first.id, newKey: second.id } },
      { type: 'key_revoked', data: { key: second.id } },
      { type: 'principal_changed', data: { role: 'auditor', dailyTokens: 5 } },
    ])
    const seqs = records.map(({ seq }: Answer) => seq)
    expect(seqs).toEqual(seqs.map((_: number, index: number) => index + 1))
    expect(await recordsOf(`trace=${trace}`)).toMatchObject([{ type: 'key_rotated' }])
  })
})
