import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { installUpstream } from '../fakes/upstream.ts'

/**
 * An isolate remembers the keys that it looked up. Changes are written to the tables behind its back here, as another
 * isolate writes them.
 */
const keysPath = '/api/operator/keys'
let upstream: ReturnType<typeof installUpstream>
beforeEach(() => (upstream = installUpstream(() => ({ text: 'done' }))))
afterEach(() => {
  gate.forget()
  upstream.restore()
  vi.restoreAllMocks()
  vi.useRealTimers()
})

let count = 0
type Made = { readonly key: string; readonly id: string; readonly principal: string }
const addKey = async (more: object = {}): Promise<Made> =>
  (await callJson(keysPath, {
    json: { principal: `claims-${(count += 1)}`, role: 'user', ...more },
  })) as unknown as Made
const as = (key: string, path: string, json?: object, more: Record<string, string> = {}) =>
  call(path, {
    headers: { authorization: `Bearer ${key}`, 'cf-connecting-ip': `192.0.2.${count}`, ...more },
    ...(json && { json }),
  })
const chat = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] }
const ask = (key: string, session?: string, more: object = {}) =>
  as(
    key,
    '/v1/chat/completions',
    { ...chat, ...more },
    session ? { 'x-isola-session': session } : {},
  )
/** A key that this isolate has looked up, and knows. */
const addKnown = async (more: object = {}): Promise<Made> => {
  const made = await addKey(more)
  expect((await as(made.key, '/v1/models')).status).toBe(200)
  return made
}
const write = (sql: string, ...values: (string | number | null)[]) =>
  env.DB.prepare(sql)
    .bind(...values)
    .run()
const revoke = (id: string) => write('UPDATE keys SET revoked_at_ms = 1 WHERE id = ?1', id)
const sessionsOf = async (principal: string): Promise<number> =>
  (await callJson(`/api/sessions?principal=${principal}&stateless=true`)).sessions.length
const reservedBy = async (principal: string): Promise<number> => {
  const { reserved } = await callJson(`/api/operator/usage?principal=${principal}`)
  return reserved.tokens
}
const refused = async (response: Response) => {
  const { error } = (await response.json()) as Answer
  return [response.status, error.code]
}
const invalid = [401, 'unauthenticated']

/** Questions to D1 about keys: how many were asked by hash and by id; by id they wait while the gate is shut. */
const gate = (() => {
  const asked = { byHash: 0, byId: 0 }
  let open = Promise.resolve()
  let isAway = false
  const statement = Object.getPrototypeOf(env.DB.prepare('SELECT 1'))
  const kinds = new WeakMap<object, 'byHash' | 'byId'>()
  const { prepare } = Object.getPrototypeOf(env.DB) as { prepare: (sql: string) => object }
  return {
    asked,
    watch() {
      const { bind } = statement as Record<string, (...values: unknown[]) => object>
      const { all } = statement as Record<string, () => Promise<object>>
      vi.spyOn(Object.getPrototypeOf(env.DB), 'prepare').mockImplementation(function (
        this: unknown,
        ...[sql]: unknown[]
      ) {
        const made = prepare.call(this, String(sql))
        if (/FROM keys/.test(String(sql))) {
          if (/hash = \?1/.test(String(sql))) kinds.set(made, 'byHash')
          if (/keys\.id = \?1/.test(String(sql))) kinds.set(made, 'byId')
        }
        return made
      })
      vi.spyOn(statement, 'bind').mockImplementation(function (this: object, ...values: unknown[]) {
        const bound = bind!.apply(this, values)
        const kind = kinds.get(this)
        if (kind) kinds.set(bound, kind)
        return bound
      })
      vi.spyOn(statement as { all: () => Promise<object> }, 'all').mockImplementation(
        async function (this: object) {
          const kind = kinds.get(this)
          if (kind) asked[kind] += 1
          if (kind && isAway) throw new Error('D1_ERROR: Network connection lost.')
          if (kind === 'byId') await open
          return all!.apply(this)
        },
      )
      asked.byHash = 0
      asked.byId = 0
    },
    shut(): () => void {
      const shut = Promise.withResolvers<void>()
      open = shut.promise
      return shut.resolve
    },
    away: () => void (isAway = true),
    forget() {
      open = Promise.resolve()
      isAway = false
    },
  }
})()

describe('a key that an isolate knows', () => {
  it('T1, G12: is asked about beside the admission, and no model hears of the run before the answer', async () => {
    const { key, principal } = await addKnown({ limits: { dailyTokens: 100_000 } })
    gate.watch()
    const open = gate.shut()
    const answer = ask(key, 'one')
    await vi.waitFor(() => expect(gate.asked.byId).toBeGreaterThan(0))
    // The day's reservation is made meanwhile: both questions are far, and neither waits for the other.
    await vi.waitFor(async () => expect(await reservedBy(principal)).toBeGreaterThan(0))
    expect(upstream.requests).toHaveLength(0)
    open()
    expect((await answer).status).toBe(200)
    expect(gate.asked.byHash).toBe(0)
    expect(upstream.requests).toHaveLength(1)
  })

  it.each([
    ['chat completions', (key: string) => ask(key)],
    ['a named session', (key: string) => ask(key, 'named')],
    ['a stream', (key: string) => ask(key, 'named', { stream: true })],
    [
      'responses',
      (key: string) => as(key, '/v1/responses', { model: 'orchestrator', input: 'Hi' }),
    ],
    [
      'a background response',
      (key: string) =>
        as(key, '/v1/responses', { model: 'orchestrator', input: 'Hi', background: true }),
    ],
  ])('T1, G12: opens nothing by %s once it was revoked elsewhere', async (_name, send) => {
    const { key, id, principal } = await addKnown({ limits: { dailyTokens: 100_000 } })
    await revoke(id)
    expect(await refused(await send(key))).toEqual(invalid)
    expect(await refused(await send(key))).toEqual(invalid)
    expect(upstream.requests).toHaveLength(0)
    expect(await sessionsOf(principal)).toBe(0)
    await vi.waitFor(async () => expect(await reservedBy(principal)).toBe(0))
  })

  it('T1, G12: opens no run in a session that worked with it before', async () => {
    const { key, id } = await addKnown()
    const made = (await (await as(key, '/api/sessions', {})).json()) as Answer
    const runs = `/api/sessions/${made.id}/runs`
    expect((await as(key, runs, { task: 'go', wait: true })).status).toBe(200)
    await revoke(id)
    expect(await refused(await as(key, runs, { task: 'go' }))).toEqual(invalid)
    expect(upstream.requests).toHaveLength(1)
    const { runs: all } = await callJson(`/api/sessions/${made.id}`)
    expect(all).toHaveLength(1)
  })

  it('T1, G12: opens nothing in a session at work, where runs wait with a row', async () => {
    const made = await addKnown()
    const gone = await addKey({ principal: made.principal, role: undefined })
    await as(gone.key, '/v1/models')
    const letGo = Promise.withResolvers<void>()
    upstream.restore()
    upstream = installUpstream(() => ({ text: 'done', wait: letGo.promise }))
    const first = ask(made.key, 'busy')
    await vi.waitFor(() => expect(upstream.requests).toHaveLength(1))
    await revoke(gone.id)
    expect(await refused(await ask(gone.key, 'busy'))).toEqual(invalid)
    letGo.resolve()
    expect((await first).status).toBe(200)
    expect(upstream.requests).toHaveLength(1)
  })

  it('T20, G12: reads no earlier answer by its idempotency key', async () => {
    const { key, id } = await addKnown()
    const again = { 'idempotency-key': 'once' }
    const send = () => as(key, '/v1/chat/completions', chat, again)
    expect((await send()).status).toBe(200)
    expect((await send()).status).toBe(200)
    expect(upstream.requests).toHaveLength(1)
    await revoke(id)
    expect(await refused(await send())).toEqual(invalid)
    expect(upstream.requests).toHaveLength(1)
  })

  it('T20, G12: gives no results to a run that waits for them', async () => {
    const { key, id } = await addKnown()
    upstream.restore()
    upstream = installUpstream((_request, index) =>
      index === 0 ? { calls: [{ name: 'look', input: {} }] } : { text: 'done' },
    )
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }]
    const first = await as(key, '/v1/responses', { model: 'orchestrator', input: 'Hi', tools })
    const response = (await first.json()) as Answer
    const { call_id } = response.output.find((one: Answer) => one.type === 'function_call')
    const given = () =>
      as(key, '/v1/responses', {
        model: 'orchestrator',
        previous_response_id: response.id,
        input: [{ type: 'function_call_output', call_id, output: 'seen' }],
        tools,
      })
    await revoke(id)
    expect(await refused(await given())).toEqual(invalid)
    expect(upstream.requests).toHaveLength(1)
    await write('UPDATE keys SET revoked_at_ms = NULL WHERE id = ?1', id)
    expect((await given()).status).toBe(200)
    expect(upstream.requests).toHaveLength(2)
  })

  it('T1: is refused from its end on', async () => {
    const { key, id } = await addKnown()
    await write('UPDATE keys SET expires_at_ms = 1 WHERE id = ?1', id)
    expect(await refused(await ask(key))).toEqual(invalid)
    expect(upstream.requests).toHaveLength(0)
  })

  it.each([
    ['an unknown model', '/v1/chat/completions', { ...chat, model: 'nothing-here' }],
    ['no messages', '/v1/chat/completions', { ...chat, messages: 'none' }],
    ['an absent session', `/api/sessions/ses_${'a'.repeat(22)}/runs`, { task: 'go' }],
    ['no session', '/api/sessions/none/runs', { task: 'go' }],
  ])('T1: is told nothing else where it was revoked and asks for %s', async (_name, path, json) => {
    const { key, id } = await addKnown()
    await revoke(id)
    expect(await refused(await as(key, path, json))).toEqual(invalid)
  })

  it('T19: is held to the limits of now', async () => {
    const { key, principal } = await addKnown({ limits: { dailyTokens: 100_000 } })
    await write('UPDATE principals SET daily_tokens = 0 WHERE id = ?1', principal)
    expect((await ask(key)).status).toBe(429)
    expect(upstream.requests).toHaveLength(0)
    await write('UPDATE principals SET daily_tokens = 200000 WHERE id = ?1', principal)
    expect((await ask(key)).status).toBe(200)
  })

  it('T1: sees the agents of now, and is told to ask again where they changed a moment ago', async () => {
    const { key, principal } = await addKnown()
    await write(`UPDATE principals SET agents = '["code-reviewer"]' WHERE id = ?1`, principal)
    expect((await ask(key)).status).toBe(503)
    expect((await ask(key)).status).toBe(404)
    expect(upstream.requests).toHaveLength(0)
    await write(`UPDATE principals SET agents = NULL WHERE id = ?1`, principal)
    const first = await ask(key)
    expect([first.status, first.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await ask(key)).status).toBe(200)
  })

  it('F15: opens nothing while the database is away', async () => {
    const { key, principal } = await addKnown()
    gate.watch()
    gate.away()
    expect((await ask(key)).status).toBe(503)
    expect((await ask(key, 'named')).status).toBe(503)
    expect(upstream.requests).toHaveLength(0)
    gate.forget()
    expect(await sessionsOf(principal)).toBe(0)
    expect((await ask(key, 'named')).status).toBe(200)
  })

  it('T1: is looked up as before by every other request', async () => {
    const { key, id } = await addKnown()
    gate.watch()
    await as(key, '/v1/models')
    await as(key, '/api/sessions')
    expect(gate.asked.byHash).toBe(2)
    await revoke(id)
    expect(await refused(await as(key, '/v1/models'))).toEqual(invalid)
  })

  it('T1: is looked up once more a quarter of an hour later', async () => {
    const { key } = await addKnown()
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(Date.now() + 900_000)
    gate.watch()
    expect((await ask(key)).status).toBe(200)
    expect(gate.asked.byHash).toBe(1)
  })

  it('T5, T1: fetches no image for a key that was revoked', async () => {
    const { key, id } = await addKnown()
    const fetched: string[] = []
    upstream.restore()
    upstream = installUpstream(
      () => ({ text: 'done' }),
      ({ url }) => (fetched.push(url), new Response('', { status: 404 })),
    )
    await revoke(id)
    const image = { type: 'image_url', image_url: { url: 'https://images.test/a.png' } }
    const messages = [{ role: 'user', content: [image] }]
    expect(await refused(await ask(key, undefined, { messages }))).toEqual(invalid)
    expect(fetched).toEqual([])
  })

  it('T1: is always looked up if an operator has it', async () => {
    const { key } = await addKnown({ role: 'operator' })
    gate.watch()
    expect((await ask(key)).status).toBe(200)
    expect(gate.asked.byHash).toBe(1)
  })
})
