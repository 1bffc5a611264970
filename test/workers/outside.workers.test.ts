import {
  abortAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Decision } from '#runtime/kernel/types/pause.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { RunView, SessionTree } from '#runtime/session/types/session-view.ts'
import type { SubmitRequest } from '#runtime/session/types/submission.ts'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { sessions, stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

/** How long a machine takes that has other work is not what is tried here. */
const eventually = <T>(look: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(look, { timeout: 60_000, interval: 20 })

const operator = 'operator'
const days = 86_400_000
let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

const lastOf = ({ messages }: UpstreamRequest) => messages.at(-1)!
const answered = ({ messages }: UpstreamRequest) =>
  messages.filter(({ role }) => role === 'tool').length
const isAnswered = (request: UpstreamRequest) => lastOf(request).role === 'tool'
const isReviewer = ({ messages }: UpstreamRequest) =>
  String(messages[0]?.content).includes('review') &&
  !String(messages[0]?.content).includes('Available tools')
const setFact = { calls: [{ name: 'kv__set', input: { key: 'a', value: 1 } }] }

const newSession = async (body: object = {}) =>
  (await callJson('/api/sessions', { json: body })).id as string
const valueOf = <T>(reply: ObjectReply<T>): T => {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`)
  return reply.value
}
const codeOf = (reply: ObjectReply<unknown>) => (reply.ok ? 'ok' : reply.error.code)
const submit = async (session: string, more: Partial<SubmitRequest> = {}) =>
  valueOf(
    await sessions.at(session).submit(session, {
      principal: operator,
      messages: [{ role: 'user', text: 'go', taint: ['user'] }],
      trace: 'a'.repeat(32),
      pauses: 'park',
      ...more,
    }),
  ).run
const viewOf = async (session: string, run: string): Promise<RunView> =>
  valueOf(await sessions.at(session).result(operator, run))
const reached = (session: string, run: string, state: RunView['state']) =>
  eventually(async () => {
    const view = await viewOf(session, run)
    expect(view.state).toBe(state)
    return view
  })
const decide = (session: string, run: string, view: RunView, decision: Decision) =>
  sessions.at(session).decide(operator, run, view.pauses![0]!.call, decision)
const toolOutcome = (request: UpstreamRequest) => String(lastOf(request).content)
const eventsOf = async (session: string) =>
  readSse(await call(`/api/sessions/${session}/events?follow=false`))
const treeOf = async (session: string): Promise<SessionTree> =>
  valueOf(await sessions.at(session).tree(operator))
const stored = async (session: string) => (await callJson(`/api/sessions/${session}`)).runs

describe('a call that needs an approval', () => {
  const approveAll = { requireApproval: ['kv__*'] }

  it('E6: parks the run with nothing resident, runs once with exactly these arguments, and goes on', async () => {
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'set' } : setFact))
    const session = await newSession()
    const run = await submit(session, approveAll)
    const parked = await reached(session, run, 'parked')
    expect(parked.pauses).toMatchObject([
      { kind: 'approval', tool: 'kv__set', input: { key: 'a', value: 1 } },
    ])
    await evictDurableObject(stubOf(session))
    const again = await viewOf(session, run)
    expect(again).toEqual(parked)
    const { argsHash } = again.pauses![0]!
    valueOf(await decide(session, run, again, { decision: 'approve', argsHash }))
    const done = await reached(session, run, 'completed')
    expect(requests).toHaveLength(2)
    expect(toolOutcome(requests[1]!)).not.toContain('error')
    const types = (await eventsOf(session)).map(({ event }) => event)
    expect(types.filter((type) => type === 'run_finished')).toHaveLength(1)
    expect(types.indexOf('run_parked')).toBeLessThan(types.indexOf('run_resumed'))
    expect(done.result?.usage.toolCalls).toBe(1)
  })

  it('E6: does not run when it is denied, and the model reads why', async () => {
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'ok' } : setFact))
    const session = await newSession()
    const run = await submit(session, approveAll)
    const parked = await reached(session, run, 'parked')
    valueOf(await decide(session, run, parked, { decision: 'deny', message: 'not today' }))
    const { result } = await reached(session, run, 'completed')
    expect(toolOutcome(requests[1]!)).toContain('not today')
    expect(result?.actions).toMatchObject([{ tool: 'kv__set', ok: false, code: 'tool_denied' }])
    expect(result?.usage.toolCalls).toBe(0)
  })

  it('E6: refuses an approval of other arguments, an unknown call, and a second, other decision', async () => {
    withModel((request) => (isAnswered(request) ? { text: 'ok' } : setFact))
    const session = await newSession()
    const run = await submit(session, approveAll)
    const parked = await reached(session, run, 'parked')
    const other = { decision: 'approve', argsHash: '0'.repeat(64) } as const
    expect(codeOf(await decide(session, run, parked, other))).toBe('request_conflict')
    const unknown = await sessions.at(session).decide(operator, run, 'call_9', other)
    expect(codeOf(unknown)).toBe('request_not_found')
    const asResult = { decision: 'result', output: 1 } as const
    expect(codeOf(await decide(session, run, parked, asResult))).toBe('request_conflict')
    valueOf(await decide(session, run, parked, { decision: 'approve' }))
    const denied = await decide(session, run, parked, { decision: 'deny' })
    expect(codeOf(denied)).toBe('request_conflict')
    const stranger = await sessions.at(session).decide('someone', run, 'call_9', other)
    expect(codeOf(stranger)).toBe('request_not_found')
    await reached(session, run, 'completed')
  })

  it('E6: an approval holds for its own call only: the next call asks again', async () => {
    const { requests } = withModel((request) => (answered(request) < 2 ? setFact : { text: 'ok' }))
    const session = await newSession()
    const run = await submit(session, approveAll)
    const first = await reached(session, run, 'parked')
    valueOf(await decide(session, run, first, { decision: 'approve' }))
    const second = await eventually(async () => {
      const view = await viewOf(session, run)
      expect(view.state).toBe('parked')
      expect(view.pauses?.[0]?.call).not.toBe(first.pauses![0]!.call)
      return view
    })
    expect(second.pauses).toHaveLength(1)
    expect(requests).toHaveLength(2)
  })

  it('is denied at once on a surface where no person can be asked', async () => {
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'ok' } : setFact))
    const session = await newSession()
    const run = await submit(session, { ...approveAll, pauses: 'refuse' })
    await reached(session, run, 'completed')
    expect(toolOutcome(requests[1]!)).toContain('/api/sessions')
  })

  it('expires after days, by the alarm alone, and the model is told', async () => {
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'ok' } : setFact))
    const session = await newSession()
    const run = await submit(session, approveAll)
    await reached(session, run, 'parked')
    vi.setSystemTime(Date.now() + 8 * days)
    await runDurableObjectAlarm(stubOf(session))
    await eventually(() => expect(requests).toHaveLength(2))
    expect(toolOutcome(requests[1]!)).toContain('tool_expired')
    const { result } = await reached(session, run, 'completed')
    expect(result?.usage.timeMs).toBeLessThan(days) // a pause is not charged
  })

  it('E8: ends as cancelled when the run is cancelled meanwhile, and is never made', async () => {
    const { requests } = withModel(() => setFact)
    const session = await newSession()
    const run = await submit(session, approveAll)
    const parked = await reached(session, run, 'parked')
    const view = valueOf(await sessions.at(session).cancel(operator, run, 'enough'))
    expect(view.state).toBe('cancelled')
    const late = await decide(session, run, parked, { decision: 'approve' })
    expect(codeOf(late)).toBe('request_conflict')
    expect(requests).toHaveLength(1)
  })

  it('holds up no other run: the next message is worked on while it waits', async () => {
    withModel((request) => (String(lastOf(request).content) === 'next' ? { text: 'hi' } : setFact))
    const session = await newSession()
    const run = await submit(session, approveAll)
    const parked = await reached(session, run, 'parked')
    const next = await submit(session, {
      messages: [{ role: 'user', text: 'next', taint: ['user'] }],
    })
    await reached(session, next, 'completed')
    // The log stays one log: in order, without a gap, and whole for a reader that comes in the middle.
    for (const restart of [async () => {}, abortAllDurableObjects]) {
      await restart()
      const all = (await eventsOf(session)).map(({ data }) => data.seq)
      expect(all).toEqual(all.map((_seq, index) => index + 1))
    }
    valueOf(await decide(session, run, parked, { decision: 'deny' }))
    await reached(session, run, 'parked') // it asks again: this model never learns
    for (const restart of [async () => {}, abortAllDurableObjects]) {
      await restart()
      const all = (await eventsOf(session)).map(({ data }) => data.seq)
      expect(all).toEqual(all.map((_seq, index) => index + 1))
      const path = `/api/sessions/${session}/events?follow=false&cursor=6`
      const rest = (await readSse(await call(path))).map(({ data }) => data.seq)
      expect(rest).toEqual(all.slice(6))
    }
    vi.setSystemTime(Date.now() + 15_000)
    await runDurableObjectAlarm(stubOf(session)) // the one that carries what an abort left behind
    const { records } = await callJson(`/api/operator/audit?session=${session}&limit=500`)
    const told = records.map((record: Answer) => record.seq)
    expect(told).toEqual((await eventsOf(session)).map(({ data }) => data.seq))
  })

  it('settles the other calls of its turn before it parks', async () => {
    const two = { calls: [...setFact.calls, { name: 'memory__search', input: { query: 'x' } }] }
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'ok' } : two))
    const session = await newSession()
    const run = await submit(session, approveAll)
    const parked = await reached(session, run, 'parked')
    await abortAllDurableObjects()
    valueOf(await decide(session, run, parked, { decision: 'approve' }))
    const { result } = await reached(session, run, 'completed')
    expect(result?.actions).toHaveLength(2)
    expect(requests).toHaveLength(2)
    const finished = (await eventsOf(session)).filter(({ event }) => event === 'tool_finished')
    expect(finished).toHaveLength(2)
  })

  it('of a sub-agent parks the whole branch, and its outcome wakes the parent', async () => {
    const { requests } = withModel((request) => {
      if (isReviewer(request)) {
        return isAnswered(request)
          ? { text: 'reviewed' }
          : { calls: [{ name: 'files__list', input: {} }] }
      }
      return isAnswered(request)
        ? { text: 'all done' }
        : { calls: [{ name: 'code-reviewer__run', input: { task: 'look' } }] }
    })
    const session = await newSession()
    const run = await submit(session, { requireApproval: ['files__*'] })
    const parent = await reached(session, run, 'parked')
    expect(parent.pauses).toMatchObject([{ kind: 'session', tool: 'code-reviewer__run' }])
    const child = (await treeOf(session)).children[0]!
    await evictDurableObject(stubOf(session))
    // Nor can it be given more to do, past what its caller was given.
    const more = await call(`/api/sessions/${child.id}/runs`, { json: { task: 'more' } })
    expect(more.status).toBe(409)
    const waiting = await viewOf(child.id, child.runs[0]!.id)
    valueOf(await decide(child.id, child.runs[0]!.id, waiting, { decision: 'approve' }))
    const { result } = await reached(session, run, 'completed')
    expect(result?.actions).toMatchObject([{ tool: 'code-reviewer__run', ok: true }])
    expect(toolOutcome(requests.at(-1)!)).toContain('reviewed')
    // 2 model calls of its own, 2 of the child: what the child did not use came back.
    expect(result?.usage.modelCalls).toBe(4)
    expect(result?.usage.tokens).toBe(440)
    // Denied to a child that is decided at the wrong place.
    const wrong = await decide(session, run, parent, { decision: 'result', output: 'x' })
    expect(codeOf(wrong)).toBe('request_conflict')
  })
})

describe('a call that waits twice', () => {
  const everything = { requireApproval: ['*'] }

  it('E6: an approval answers no question that the same call asks later', async () => {
    const ask = { calls: [{ name: 'isola__ask', input: { question: 'Which one?' } }] }
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'ok' } : ask))
    const session = await newSession()
    const run = await submit(session, { ...everything, mayAsk: true })
    const first = await reached(session, run, 'parked')
    valueOf(await decide(session, run, first, { decision: 'approve' }))
    const second = await eventually(async () => {
      const view = await viewOf(session, run)
      expect(view.pauses?.[0]?.kind).toBe('question')
      return view
    })
    valueOf(await decide(session, run, second, { decision: 'result', output: 'the blue one' }))
    await reached(session, run, 'completed')
    expect(toolOutcome(requests.at(-1)!)).toContain('the blue one')
    const parks = (await eventsOf(session)).filter(({ event }) => event === 'run_parked')
    expect(parks).toHaveLength(2)
  })

  it('E6: is approved here, and what it starts is approved there', async () => {
    withModel((request) => {
      if (isReviewer(request)) {
        return isAnswered(request)
          ? { text: 'reviewed' }
          : { calls: [{ name: 'files__list', input: {} }] }
      }
      return isAnswered(request)
        ? { text: 'all done' }
        : { calls: [{ name: 'code-reviewer__run', input: { task: 'look' } }] }
    })
    const session = await newSession()
    const run = await submit(session, everything)
    const first = await reached(session, run, 'parked')
    valueOf(await decide(session, run, first, { decision: 'approve' }))
    const child = await eventually(async () => {
      const [found] = (await treeOf(session)).children
      expect(found?.runs[0]?.state).toBe('parked')
      return found!
    })
    const second = await eventually(async () => {
      const view = await viewOf(session, run)
      expect(view.pauses?.[0]?.kind).toBe('session')
      return view
    })
    // The parent cannot deny an approval of its child: a call is decided where it waits.
    const denied = await decide(session, run, second, { decision: 'deny' })
    expect(codeOf(denied)).toBe('request_conflict')
    const waiting = await viewOf(child.id, child.runs[0]!.id)
    valueOf(await decide(child.id, child.runs[0]!.id, waiting, { decision: 'approve' }))
    const { result } = await reached(session, run, 'completed')
    expect(result?.usage.modelCalls).toBe(4)
  })

  it('a decision whose answer was lost may be repeated, whatever has become of the run', async () => {
    withModel((request) => (isAnswered(request) ? { text: 'ok' } : setFact))
    const session = await newSession()
    const run = await submit(session, everything)
    const parked = await reached(session, run, 'parked')
    valueOf(await decide(session, run, parked, { decision: 'approve' }))
    await reached(session, run, 'completed')
    const again = valueOf(await decide(session, run, parked, { decision: 'approve' }))
    expect(again.state).toBe('completed')
    expect(codeOf(await decide(session, run, parked, { decision: 'deny' }))).toBe(
      'request_conflict',
    )
  })

  it('E6: takes no decision after its time, even if no alarm came', async () => {
    withModel((request) => (isAnswered(request) ? { text: 'ok' } : setFact))
    const session = await newSession()
    const run = await submit(session, everything)
    const parked = await reached(session, run, 'parked')
    vi.setSystemTime(Date.now() + 8 * days)
    expect(codeOf(await decide(session, run, parked, { decision: 'approve' }))).toBe(
      'request_conflict',
    )
  })

  it('E1: F19: what a waiting child held is booked when its caller is cancelled, and what it did not use returns', async () => {
    withModel((request) =>
      isReviewer(request)
        ? { calls: [{ name: 'files__list', input: {} }] }
        : { calls: [{ name: 'code-reviewer__run', input: { task: 'look' } }] },
    )
    const session = await newSession()
    const run = await submit(session, { requireApproval: ['files__*'] })
    await reached(session, run, 'parked')
    const child = (await treeOf(session)).children[0]!
    const { result } = valueOf(await sessions.at(session).cancel(operator, run, 'enough'))
    expect(result?.usage.tokens).toBeGreaterThan(40_000)
    await reached(child.id, child.runs[0]!.id, 'cancelled')
    // One model call each.
    await eventually(async () => expect((await treeOf(session)).usage.tokens).toBe(220))
  })
})

describe('a question and a tool of the client', () => {
  it('N12: a person answers a question days later, as the result of a tool like any other', async () => {
    const ask = { calls: [{ name: 'isola__ask', input: { question: 'Which one?' } }] }
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'ok' } : ask))
    const session = await newSession()
    const run = await submit(session, { mayAsk: true })
    const parked = await reached(session, run, 'parked')
    expect(parked.pauses).toMatchObject([{ kind: 'question', input: { question: 'Which one?' } }])
    await abortAllDurableObjects()
    valueOf(await decide(session, run, parked, { decision: 'result', output: 'the blue one' }))
    await reached(session, run, 'completed')
    expect(toolOutcome(requests[1]!)).toContain('the blue one')
  })

  it('the client runs its own tool, which may fail', async () => {
    const clientTools = [
      { name: 'open_window', description: 'Opens a window.', inputSchema: { type: 'object' } },
    ]
    const open = { calls: [{ name: 'open_window', input: {} }] }
    const { requests } = withModel((request) => (isAnswered(request) ? { text: 'ok' } : open))
    const session = await newSession()
    const run = await submit(session, { clientTools })
    const parked = await reached(session, run, 'parked')
    expect(parked.pauses).toMatchObject([{ kind: 'client_tool', tool: 'open_window' }])
    valueOf(await decide(session, run, parked, { decision: 'error', message: 'it is stuck' }))
    await reached(session, run, 'completed')
    expect(toolOutcome(requests[1]!)).toContain('it is stuck')
    expect(requests[0]!.tools?.map((tool) => tool.function.name)).toContain('open_window')
  })
})

describe('a message to a running run', () => {
  const say = (text: string) => ({ role: 'user', text, taint: ['user'] }) as const

  it('is seen by its next turn, once, and the run does not end before', async () => {
    const gate = Promise.withResolvers<void>()
    const { requests } = withModel((_request, index) => ({
      text: `answer ${index}`,
      ...(index === 0 && { wait: gate.promise }),
    }))
    const session = await newSession()
    const run = await submit(session)
    const key = 'once'
    const first = valueOf(await sessions.at(session).steer(operator, run, say('and b'), key))
    const again = valueOf(await sessions.at(session).steer(operator, run, say('and b'), key))
    expect(again).toEqual(first)
    const other = await sessions.at(session).steer(operator, run, say('and c'), key)
    expect(codeOf(other)).toBe('request_idempotency_mismatch')
    gate.resolve()
    const { result } = await reached(session, run, 'completed')
    expect(requests).toHaveLength(2)
    expect(lastOf(requests[1]!).content).toBe('and b')
    expect(result?.result).toBe('answer 1')
    const { messages } = await callJson(`/api/sessions/${session}/transcript`)
    expect(messages.map((message: Answer) => message.text)).toEqual([
      'go',
      'answer 0',
      'and b',
      'answer 1',
    ])
    const late = await sessions.at(session).steer(operator, run, say('too late'))
    expect(codeOf(late)).toBe('request_conflict')
  })

  it('is not lost when everything is aborted right after it was taken', async () => {
    let isFirst = true
    const { requests } = withModel((request) => {
      if (!isFirst) return { text: String(lastOf(request).content) }
      isFirst = false
      return { wait: new Promise(() => {}) }
    })
    const session = await newSession()
    const run = await submit(session)
    valueOf(await sessions.at(session).steer(operator, run, say('remember')))
    await abortAllDurableObjects()
    const { result } = await reached(session, run, 'completed')
    expect(result?.result).toBe('remember')
    expect(requests).toHaveLength(2)
  })
})

describe('a background child', () => {
  const start = {
    calls: [{ name: 'code-reviewer__run', input: { task: 'look', background: true } }],
  }

  it('I10, E1: goes on after its run, delivers one outcome, and gives back what it did not use', async () => {
    const gate = Promise.withResolvers<void>()
    const { requests } = withModel((request) => {
      if (isReviewer(request)) return { text: 'found two bugs', wait: gate.promise }
      return isAnswered(request) ? { text: 'started' } : start
    })
    const session = await newSession()
    const run = await submit(session)
    const { result } = await reached(session, run, 'completed')
    // The whole lease of the child is booked while it works.
    expect(result?.usage.tokens).toBeGreaterThan(40_000)
    expect((await treeOf(session)).usage.tokens).toBe(result?.usage.tokens)
    gate.resolve()
    await eventually(async () => expect((await treeOf(session)).usage.tokens).toBe(330))
    const { messages } = await callJson(`/api/sessions/${session}/transcript`)
    const told = messages.filter((message: Answer) => message.text?.includes('found two bugs'))
    expect(told).toHaveLength(1)
    await submit(session, { messages: [{ role: 'user', text: 'and?', taint: ['user'] }] })
    await eventually(() => expect(lastOf(requests.at(-1)!).content).toBe('and?'))
    expect(JSON.stringify(requests.at(-1)!.messages)).toContain('found two bugs')
  })

  it('I10: delivers its outcome although both were aborted meanwhile', async () => {
    const never = new Promise<never>(() => {})
    let isCut = true
    withModel((request) => {
      if (isReviewer(request)) return { text: 'found', ...(isCut && { wait: never }) }
      return isAnswered(request) ? { text: 'started' } : start
    })
    const session = await newSession()
    await reached(session, await submit(session), 'completed')
    const child = (await treeOf(session)).children[0]!
    isCut = false
    await abortAllDurableObjects()
    await runDurableObjectAlarm(stubOf(child.id))
    await eventually(async () => {
      const { messages } = await callJson(`/api/sessions/${session}/transcript`)
      expect(JSON.stringify(messages).match(/found/g)).toHaveLength(1)
    })
    // The request that was cut may have been billed: it is charged in full, and no more than that.
    const { tokens } = (await treeOf(session)).usage
    expect(tokens).toBeGreaterThan(330)
    expect(tokens).toBeLessThan(40_000)
  })

  const isOutcome = (request: UpstreamRequest) =>
    String(lastOf(request).content).includes('started in the background')
  const startAndWork = {
    calls: [
      {
        name: 'code-reviewer__run',
        input: { task: 'look', background: true, onOutcome: 'run' },
      },
    ],
  }
  /** The outcome as the child brings it, once more. */
  const deliverAgain = async (session: string, run: string) => {
    const [child] = (await treeOf(session)).children
    const events = await eventsOf(session)
    const invoked = events.find(({ event }) => event === 'agent_invoked')
    return sessions.at(session).deliver({
      parentRun: run,
      call: (invoked!.data as Answer).data.call,
      agent: 'code-reviewer',
      session: child!.id,
      isBackground: true,
      onOutcome: 'run',
      result: { ok: true, output: 'found two bugs' },
    })
  }

  it('I10: begins a run of its session if it is asked to, once, and says so', async () => {
    const gate = Promise.withResolvers<void>()
    const { requests } = withModel((request) => {
      if (isReviewer(request)) return { text: 'found two bugs', wait: gate.promise }
      if (isOutcome(request)) return { text: 'fixed both' }
      return isAnswered(request) ? { text: 'started' } : startAndWork
    })
    const session = await newSession()
    const run = await submit(session)
    await reached(session, run, 'completed')
    gate.resolve()
    const begun = await eventually(async () => {
      const { runs } = await callJson(`/api/sessions/${session}`)
      expect(runs).toHaveLength(2)
      return runs[1] as RunView
    })
    await reached(session, begun.id, 'completed')
    const view = await callJson(`/api/sessions/${session}/runs/${begun.id}`)
    const child = (await treeOf(session)).children[0]!.id
    expect(view).toMatchObject({
      begunBy: { run, session: child, depth: 1 },
      result: { result: 'fixed both' },
    })
    const started = (await eventsOf(session)).filter(({ event }) => event === 'run_started')
    expect(started.map(({ data }) => (data as Answer).data.begunBy?.run)).toEqual([undefined, run])
    expect(JSON.stringify(requests.at(-1)!.messages).match(/found two bugs/g)).toHaveLength(1)
    await Promise.all([deliverAgain(session, run), deliverAgain(session, run)])
    await abortAllDurableObjects()
    valueOf(await deliverAgain(session, run))
    expect((await treeOf(session)).runs).toHaveLength(2)
    await callJson(`/api/sessions/${session}`, { method: 'DELETE' })
    expect(
      codeOf(
        await sessions.at(session).deliver({
          parentRun: run,
          call: 'call_1',
          agent: 'code-reviewer',
          session: child,
          isBackground: true,
          onOutcome: 'run',
          result: { ok: true, output: 'late' },
        }),
      ),
    ).toBe('request_not_found')
  })

  it('E8: begins none in a session that is deleted as the work ends, and does not hold that up', async () => {
    const gate = Promise.withResolvers<void>()
    const { requests } = withModel((request) => {
      if (isReviewer(request)) return { text: 'found two bugs', wait: gate.promise }
      if (isOutcome(request)) return { text: 'fixed both' }
      return isAnswered(request) ? { text: 'started' } : startAndWork
    })
    const session = await newSession()
    await reached(session, await submit(session), 'completed')
    const child = (await treeOf(session)).children[0]!
    await reached(child.id, child.runs[0]!.id, 'running')
    gate.resolve()
    expect(codeOf(await sessions.at(session).delete(operator))).toBe('ok')
    expect(codeOf(await sessions.at(session).tree(operator))).toBe('request_not_found')
    expect(codeOf(await sessions.at(child.id).tree(operator))).toBe('request_not_found')
    expect(requests.filter(isOutcome)).toEqual([])
  })

  it('I10: begins that run although both were aborted meanwhile', async () => {
    const never = new Promise<never>(() => {})
    let isCut = true
    withModel((request) => {
      if (isReviewer(request)) return { text: 'found', ...(isCut && { wait: never }) }
      if (isOutcome(request)) return { text: 'fixed' }
      return isAnswered(request) ? { text: 'started' } : startAndWork
    })
    const session = await newSession()
    await reached(session, await submit(session), 'completed')
    const child = (await treeOf(session)).children[0]!
    isCut = false
    await abortAllDurableObjects()
    await runDurableObjectAlarm(stubOf(child.id))
    await eventually(async () => {
      const { runs } = await treeOf(session)
      expect(runs.map(({ state }) => state)).toEqual(['completed', 'completed'])
    })
  })

  it('E8: is cancelled with its run, and not when its run completes', async () => {
    const never = new Promise<never>(() => {})
    withModel((request) => {
      if (isReviewer(request)) return { text: 'x', wait: never }
      return isAnswered(request) ? { text: 'x', wait: never } : start
    })
    const session = await newSession()
    const run = await submit(session)
    const child = await eventually(async () => {
      const [found] = (await treeOf(session)).children
      expect(found?.runs[0]?.state).toBe('running')
      return found!
    })
    valueOf(await sessions.at(session).cancel(operator, run, 'enough'))
    await reached(child.id, child.runs[0]!.id, 'cancelled')
  })
})

describe('a cancel', () => {
  it('E8: that comes before what it cancels lets nothing begin', async () => {
    const { requests } = withModel(() => ({ text: 'never' }))
    const session = `ses_${'Z'.repeat(22)}`
    await sessions.at(session).cancelCall('run_above', 'call_1', 'enough')
    const lineage = {
      rootSession: 'ses_above',
      parentSession: 'ses_above',
      parentRun: 'run_above',
      parentCall: 'call_1',
      depth: 1,
      shared: {},
      ancestry: [],
      lease: {} as never,
    }
    const reply = await sessions.at(session).run(session, {
      agent: 'code-reviewer',
      principal: operator,
      messages: [{ role: 'user', text: 'go', taint: ['user'] }],
      trace: 'a'.repeat(32),
      lineage,
    })
    expect(codeOf(reply)).toBe('request_conflict')
    expect(requests).toHaveLength(0)
  })
})

describe('the limits of a session', () => {
  it('E1: hold over all its runs: the next one gets what the others left', async () => {
    withModel(() => ({ text: 'hi' }))
    const session = await newSession({ limits: { maxTokens: 20_000 } })
    const states: string[] = []
    for (let index = 0; index < 6; index += 1) {
      const run = await submit(session)
      const view = await eventually(async () => {
        const found = await viewOf(session, run)
        expect(found.result).toBeDefined()
        return found
      })
      states.push(view.state)
      expect((await treeOf(session)).usage.tokens).toBeLessThanOrEqual(20_000)
    }
    expect(states[0]).toBe('completed')
    expect(await stored(session)).toHaveLength(6)
  })

  it('E1: say nothing about dimensions they do not name: a child costs what it costs', async () => {
    // One child a run: what comes of it may come while the run still goes on, and is not a new task.
    let isAsked = false
    withModel((request) => {
      if (isReviewer(request) || isAsked) return { text: 'ok' }
      isAsked = true
      return { calls: [{ name: 'code-reviewer__run', input: { task: 'x', background: true } }] }
    })
    const session = await newSession({ limits: { maxTokens: 900_000 } })
    for (let index = 0; index < 2; index += 1) {
      isAsked = false
      const run = await submit(session)
      await reached(session, run, 'completed')
    }
    expect((await treeOf(session)).costEstimateUsd).toBeLessThan(1)
  })

  it('E1: refuse a run that has nothing left, without a model call', async () => {
    const { requests } = withModel(() => ({ text: 'hi' }))
    const session = await newSession({ limits: { maxTokens: 100 } })
    const run = await submit(session)
    const { result } = await reached(session, run, 'stopped')
    expect(result?.error?.code).toBe('lease_tokens')
    expect(requests).toHaveLength(0)
  })
})

describe('a session with a row that cannot be read', () => {
  it('F36: gives up the run it belongs to, once, and works on', async () => {
    const never = new Promise<never>(() => {})
    let isBroken = true
    withModel((request) => {
      if (!isBroken) return { text: 'fine' }
      return isAnswered(request) ? { wait: never } : setFact
    })
    const session = await newSession()
    const run = await submit(session)
    await eventually(async () => {
      const types = (await eventsOf(session)).map(({ event }) => event)
      expect(types).toContain('tool_finished')
    })
    await runInDurableObject(stubOf(session), (_instance, { storage }) => {
      storage.sql.exec(`UPDATE log SET body = '{"turn":1,' WHERE run = 1 AND turn = 1`)
    })
    isBroken = false
    await abortAllDurableObjects()
    const { result } = await reached(session, run, 'failed')
    expect(result?.error?.code).toBe('run_given_up')
    const retried = valueOf(await sessions.at(session).retry(run))
    expect(valueOf(await sessions.at(session).retry(run)).run).toBe(retried.run)
    await reached(session, retried.run, 'completed')
    expect(codeOf(await sessions.at(session).retry(retried.run))).toBe('request_conflict')
  })
})
