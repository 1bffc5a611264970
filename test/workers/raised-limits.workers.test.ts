import { abortAllDurableObjects, runDurableObjectAlarm } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { SessionEvent } from '#contracts/event.ts'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

const eventually = <T>(look: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(look, { timeout: 60_000, interval: 20 })
let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

interface Place {
  readonly session: string
  readonly run: string
}

/** Three turns, each with one call and a text, then an answer. */
const threeFacts: UpstreamScript = ({ messages }) => {
  const count = messages.filter(({ role }) => role === 'tool').length
  if (count === 3) return { text: 'all set' }
  return {
    text: `fact ${count}`,
    calls: [{ name: 'kv__set', input: { key: `k${count}`, value: count } }],
  }
}

async function start(limits: object, headers: Record<string, string> = {}): Promise<Place> {
  const { id: session } = await callJson('/api/sessions', { json: {}, headers })
  const json = { task: 'go', limits }
  const { run } = await callJson(`/api/sessions/${session}/runs`, { json, headers })
  return { session, run }
}
/** A limit of tokens that one model call fits, and no second one. */
async function enoughForOne(): Promise<object> {
  const { pauses } = await reached(await start({ maxTokens: 1 }), 'parked')
  return { maxTokens: pauses[0].reached.needed + 50 }
}
const pathOf = ({ session, run }: Place) => `/api/sessions/${session}/runs/${run}`
const reached = (place: Place, state: string): Promise<Answer> =>
  eventually(async () => {
    const view = await callJson(pathOf(place))
    expect(view.state).toBe(state)
    return view
  })
const raise = (place: Place, limits: object, headers: Record<string, string> = {}) =>
  call(`${pathOf(place)}/limits`, { json: limits, headers })
const eventsOf = async ({ session }: Place): Promise<SessionEvent[]> =>
  (await readSse(await call(`/api/sessions/${session}/events?follow=false`))).flatMap(({ data }) =>
    data.type ? [data] : [],
  )

/** The work of a run, without times and without the number of interruptions. */
async function journalOf(place: Place) {
  const { result } = await callJson(pathOf(place))
  const { messages } = await callJson(`/api/sessions/${place.session}/transcript`)
  const { usage, state, actions, modelCalls, steps } = result
  // To wait costs the platform something.
  const { platform: _platform, platformNanoUsd: _price, ...spent } = usage
  return {
    state,
    steps,
    result: result.result,
    usage: { ...spent, timeMs: 0 },
    actions: actions.map((action: Answer) => ({ ...action, durationMs: 0 })),
    modelCalls,
    messages: JSON.parse(
      JSON.stringify(messages).replaceAll(place.run, 'RUN').replaceAll(place.session, 'SESSION'),
    ),
  }
}

describe('a run that reaches a limit where a person can be asked', () => {
  it.each([
    ['turns', { maxTurns: 2 }, 'lease_turns', { maxTurns: 20 }],
    ['tool calls', { maxToolCalls: 1 }, 'lease_tool_calls', { maxToolCalls: 20 }],
    ['no tool calls at all', { maxToolCalls: 0 }, 'lease_tool_calls', { maxToolCalls: 20 }],
    ['tokens', undefined, 'lease_tokens', { maxTokens: 900_000 }],
  ] as const)(
    'E1, I15: %s: is parked, and ends as if it had had the raised limit from the start',
    async (_name, asked, code, high) => {
      withModel(threeFacts)
      const low = asked ?? (await enoughForOne())
      const place = await start(low)
      const parked = await reached(place, 'parked')
      const { reached: limit, ...pause } = parked.pauses[0]
      expect(pause).toMatchObject({ kind: 'budget', expires: true })
      const [name, allowed] = Object.entries(low)[0]!
      expect(limit).toMatchObject({ code, limit: name, allowed })
      expect(limit.needed).toBeGreaterThan(allowed)
      expect(limit.spent).toBeLessThanOrEqual(allowed)
      expect(limit.own).toBe(limit.spent)
      const told = (await eventsOf(place)).filter(({ type }) => type === 'budget_reached')
      expect(told).toMatchObject([{ data: limit }])
      await abortAllDurableObjects()
      expect(await reached(place, 'parked')).toEqual(parked)
      expect((await raise(place, high)).status).toBe(200)
      await reached(place, 'completed')
      const whole = await start(high)
      await reached(whole, 'completed')
      expect(await journalOf(place)).toEqual(await journalOf(whole))
    },
  )

  it('E1, I15: time: is parked in the middle of a request, and goes on with the same turn', async () => {
    const never = new Promise<never>(() => {})
    let isSlow = true
    const { requests } = withModel((request, index) => ({
      ...threeFacts(request, index),
      ...(index === 1 && isSlow && { wait: never }),
    }))
    const place = await start({ maxTimeMs: 1_500 })
    const { pauses } = await reached(place, 'parked')
    expect(pauses[0].reached).toMatchObject({
      code: 'lease_time',
      limit: 'maxTimeMs',
      allowed: 1_500,
    })
    // A model call that is cut at once is booked in full: there is time for one.
    const { spent, needed } = pauses[0].reached
    expect(needed - spent).toBeGreaterThanOrEqual(10_000)
    await abortAllDurableObjects()
    isSlow = false
    expect((await raise(place, { maxTimeMs: 600_000 })).status).toBe(200)
    await reached(place, 'completed')
    expect(requests).toHaveLength(5)
    const whole = await start({})
    await reached(whole, 'completed')
    const { usage, ...raised } = await journalOf(place)
    const { usage: usual, ...direct } = await journalOf(whole)
    expect(raised).toEqual(direct)
    // The request that was cut may have been billed, and stays booked.
    expect(usage.turns).toBe(usual.turns)
    expect(usage.modelCalls).toBe(usual.modelCalls + 1)
  })

  it('E1: not raised in time it is stopped with the answer so far, never with nothing', async () => {
    withModel(threeFacts)
    const place = await start({ maxTurns: 2 })
    const parked = await reached(place, 'parked')
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(parked.pauses[0].expiresAtMs + 1)
    await runDurableObjectAlarm(stubOf(place.session))
    const { result } = await reached(place, 'stopped')
    expect(result).toMatchObject({ error: { code: 'lease_turns' }, result: 'fact 0\n\nfact 1' })
    expect((await raise(place, { maxTurns: 20 })).status).toBe(409)
  })

  it('E1: a person may say that the limit stays, and it ends', async () => {
    withModel(threeFacts)
    const place = await start({ maxToolCalls: 1 })
    const { pauses } = await reached(place, 'parked')
    const decide = (json: object) => call(`${pathOf(place)}/decisions`, { json })
    const { call: id } = pauses[0]
    expect((await decide({ call: id, decision: 'approve' })).status).toBe(409)
    expect((await decide({ call: id, decision: 'deny', message: 'Enough.' })).status).toBe(200)
    const { result } = await reached(place, 'stopped')
    expect(result).toMatchObject({
      error: { code: 'lease_tool_calls', message: expect.stringMatching(/at least 2\. Enough\.$/) },
      result: 'fact 0\n\nfact 1',
    })
    expect(result.actions).toMatchObject([{ ok: true }, { ok: false, code: 'lease_tool_calls' }])
  })

  it('E1: a raise that is not enough leaves it parked, the same again changes nothing, the next one counts', async () => {
    const { requests } = withModel(threeFacts)
    const place = await start({ maxTurns: 1 })
    await reached(place, 'parked')
    for (const _again of [1, 2]) {
      expect((await raise(place, { maxToolCalls: 90 })).status).toBe(200)
      expect((await callJson(pathOf(place))).state).toBe('parked')
    }
    expect((await raise(place, { maxTurns: 2 })).status).toBe(200)
    await eventually(async () => {
      const { pauses, state } = await callJson(pathOf(place))
      expect([state, pauses?.[0].reached.allowed]).toEqual(['parked', 2])
    })
    expect(requests).toHaveLength(2)
    expect((await raise(place, { maxTurns: 4 })).status).toBe(200)
    await reached(place, 'completed')
  })

  it('E1: a raise while it works holds when it gets there; a lower limit holds at once', async () => {
    const gate = Promise.withResolvers<void>()
    withModel((request, index) => ({
      ...threeFacts(request, index),
      ...(index === 0 && { wait: gate.promise }),
    }))
    const one = await start({ maxTurns: 2 })
    await reached(one, 'running')
    expect((await raise(one, { maxTurns: 20 })).status).toBe(200)
    gate.resolve()
    await reached(one, 'completed')
    const second = Promise.withResolvers<void>()
    upstream!.restore()
    withModel((request, index) => ({
      ...threeFacts(request, index),
      ...(index === 1 && { wait: second.promise }),
    }))
    const other = await start({ maxTurns: 20 })
    await eventually(() => expect(upstream!.requests).toHaveLength(2))
    expect((await raise(other, { maxTurns: 2 })).status).toBe(200)
    second.resolve()
    const { pauses } = await reached(other, 'parked')
    expect(pauses[0].reached).toMatchObject({ limit: 'maxTurns', allowed: 2, spent: 2, needed: 3 })
  })

  it('E1: raised to exactly what it needs of the platform it takes a step each time', async () => {
    const { requests } = withModel(threeFacts)
    const place = await start({ maxPlatformUsd: 0.00003 })
    let needed = 0
    for (let raises = 0; raises < 9; raises += 1) {
      const view = await eventually(async () => {
        const now = await callJson(pathOf(place))
        expect(now.state).not.toBe('running')
        expect(now.pauses?.[0].reached.needed).not.toBe(needed)
        return now
      })
      if (view.state !== 'parked') break
      const before = requests.length
      const { reached: limit } = view.pauses[0]
      expect(limit).toMatchObject({ code: 'lease_platform', limit: 'maxPlatformNanoUsd' })
      needed = limit.needed
      if (raises % 2 === 0) await abortAllDurableObjects()
      expect((await raise(place, { maxPlatformUsd: needed / 1e9 })).status).toBe(200)
      await eventually(() => expect(requests.length).toBeGreaterThan(before))
    }
    await reached(place, 'completed')
    expect(requests).toHaveLength(4)
  })

  it('E1: a limit of the session says so, with what its other runs have spent', async () => {
    withModel(() => ({ text: 'done' }))
    const json = { limits: { maxTurns: 1 } }
    const { id: session } = await callJson('/api/sessions', { json })
    const path = `/api/sessions/${session}/runs`
    const first = await callJson(path, { json: { task: 'one', wait: true } })
    expect(first.state).toBe('completed')
    const second = await callJson(path, { json: { task: 'two', wait: true } })
    const limit = second.pauses[0].reached
    expect(limit).toMatchObject({ of: 'session', allowed: 0, spent: 0, needed: 1 })
    expect(limit.message).toContain('The limit of 1 turns of the session is reached: 1 spent by')
    await callJson(`${path}/${second.id}/limits`, { json: { maxTurns: 1 } })
    await reached({ session, run: second.id }, 'completed')
  })

  it('E1, N13: a soft line at four fifths is told once', async () => {
    withModel(threeFacts)
    const place = await start({ maxTurns: 5, maxToolCalls: 3 })
    await reached(place, 'completed')
    const told = (await eventsOf(place)).filter(({ type }) => type === 'budget_warning')
    expect(told.map(({ data }) => data)).toEqual([{ limit: 'maxToolCalls', allowed: 3, spent: 3 }])
  })

  it('E1: no person can be asked at /v1: it is stopped with the answer so far', async () => {
    withModel(threeFacts)
    const answer = await callJson('/v1/responses', {
      json: { model: 'isola', input: 'go', max_tool_calls: 1 },
    })
    expect(answer).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'lease_tool_calls' },
    })
    expect(JSON.stringify(answer.output)).toContain('fact 1')
  })
})

describe('a run that goes round in circles', () => {
  const same: UpstreamScript = () => ({ calls: [{ name: 'kv__get', input: { key: 'x' } }] })

  it('I12: 810 identical calls end at the fifth, and go on only if a person says so', async () => {
    const { requests } = withModel((request, index) =>
      index < 810 ? same(request, index) : { text: 'x' },
    )
    const place = await start({ maxTurns: 900, maxToolCalls: 900 })
    const { pauses } = await reached(place, 'parked')
    expect(requests).toHaveLength(5)
    expect(pauses).toMatchObject([{ kind: 'budget', reached: { code: 'loop_suspected' } }])
    const decide = (decision: string, id: string) =>
      call(`${pathOf(place)}/decisions`, { json: { call: id, decision } })
    expect((await decide('approve', pauses[0].call)).status).toBe(200)
    const again = await eventually(async () => {
      const view = await callJson(pathOf(place))
      expect(view.pauses?.[0].call).toMatch(/^limit_10_/)
      return view
    })
    expect(requests).toHaveLength(10)
    expect((await decide('deny', again.pauses[0].call)).status).toBe(200)
    const { result } = await reached(place, 'stopped')
    expect(result.error.code).toBe('loop_suspected')
    expect(requests).toHaveLength(10)
  })

  it('I12: ends where no person can be asked', async () => {
    const { requests } = withModel(same)
    const answer = await callJson('/v1/responses', { json: { model: 'isola', input: 'go' } })
    expect(answer.incomplete_details).toMatchObject({ reason: 'loop_suspected' })
    expect(requests).toHaveLength(5)
  })
})

describe('who may raise a limit', () => {
  it('E1: the owner as far as the day goes, an operator beyond that and on the record, a stranger not at all', async () => {
    withModel(threeFacts)
    const { key } = await callJson('/api/operator/keys', {
      json: { principal: 'raiser', role: 'user', limits: { dailyTokens: 60_000 } },
    })
    const headers = { authorization: `Bearer ${key}` }
    const place = await start(await enoughForOne(), headers)
    const { pauses } = await reached(place, 'parked')
    const spent = pauses[0].reached.spent
    const refused = await raise(place, { maxTokens: 60_001 + spent }, headers)
    expect(refused.status).toBe(403)
    expect(((await refused.json()) as Answer).error.message).toContain('operator')
    const stranger = await callJson('/api/operator/keys', {
      json: { principal: 'raise-stranger', role: 'user' },
    })
    const asStranger = { authorization: `Bearer ${stranger.key}` }
    expect((await raise(place, { maxTokens: 20_000 }, asStranger)).status).toBe(404)
    expect((await call(`${pathOf(place)}/limits`, { json: {} })).status).toBe(400)
    expect((await raise(place, { maxTokens: 500_000 })).status).toBe(200)
    await reached(place, 'completed')
    const { records } = await eventually(async () => {
      const found = await callJson(
        `/api/operator/audit?session=${place.session}&type=limits_changed`,
      )
      expect(JSON.stringify(found)).toContain('limits_changed')
      return { records: found }
    })
    expect(JSON.stringify(records)).toContain('500000')
  })

  it('N6: the limits of a sub-agent are its caller’s, who reads what is missing as an error', async () => {
    const { requests } = withModel(({ messages }) => {
      const system = String(messages[0]?.content)
      if (system.includes('review') && !system.includes('Available tools'))
        return { calls: [{ name: 'kv__get', input: { key: String(messages.length) } }] }
      return messages.some(({ role }) => role === 'tool')
        ? { text: 'done' }
        : { calls: [{ name: 'code-reviewer__run', input: { task: 'x' } }] }
    })
    const place = await start({ maxTurns: 6 })
    await reached(place, 'completed')
    const answer = String(requests.at(-1)!.messages.at(-1)!.content)
    expect(answer).toMatch(/lease_turns/)
    expect(answer).toMatch(/limit of \d+ turns that its caller gave it.* called again, alone/)
    expect(answer).toMatch(/^\{"error":/)
    const tree = await callJson(`/api/sessions/${place.session}`)
    const [child] = tree.children
    const refused = await raise({ session: child.id, run: child.runs[0].id }, { maxTurns: 9 })
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining(place.run),
    ])
  })
})
