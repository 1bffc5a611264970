import { describe, expect, it } from 'vitest'
import { zeroUsage } from '#contracts/lease.ts'
import type { Decision } from '#runtime/kernel/types/pause.ts'
import type { SessionRuntime } from '#runtime/session/types/runtime.ts'
import type { Lineage } from '#runtime/session/types/submission.ts'
import type { RunOutcome } from '#runtime/session/types/session-view.ts'
import { deleteSession } from '../../../src/runtime/session/upkeep/ending.ts'
import { pagesAfter } from '../../../src/runtime/session/log/log-view.ts'
import {
  decideCalls,
  expirePauses,
  steerRun,
  takeDelivery,
} from '../../../src/runtime/session/waiting/outside.ts'
import {
  createSessionWorld,
  never,
  openingsOf,
  pauseMs,
  session,
  settle,
} from '../../switches/session-world.ts'
import { logOf } from '../../fakes/log.ts'
import { agentSpec, says, sha256, toolEntry } from '../../fakes/kernel.ts'

const code = (error: { readonly code?: string }) => error.code
const refusedWith = (expected: string) => (work: Promise<unknown>) =>
  expect(work).rejects.toSatisfy((error: { code?: string }) => code(error) === expected)
const isEnded = (outcome: RunOutcome) => outcome.state !== 'parked'
const say = (text: string) => ({ role: 'user', text, taint: ['user'] }) as const
const lineage: Lineage = {
  rootSession: 'ses_above',
  parentSession: 'ses_above',
  parentRun: 'run_above',
  parentCall: 'call_above',
  depth: 1,
  shared: {},
  ancestry: ['above'],
  lease: agentSpec().limits,
}
const answers = { script: () => ({ text: 'hi' }) }

describe('a session', () => {
  it('F35: is kept whole, however much was said before its first run, and shorter again', async () => {
    const { wake } = createSessionWorld(answers)
    const preamble = [say('x'.repeat(1_500_000)), say('y')]
    const life = wake({ preamble })
    expect(wake().store.session()?.preamble).toEqual(preamble)
    const { preamble: _long, ...rest } = life.store.session()!
    life.store.writeSession({ ...rest, preamble: [say('y')] })
    expect(wake().store.session()?.preamble).toEqual([say('y')])
  })
})

describe('messages to one session', () => {
  it('F18: are worked on one at a time, in accept order', async () => {
    const gate = Promise.withResolvers<void>()
    const { wake, model } = createSessionWorld({
      script: (_request, index) => ({
        text: `${index}`,
        ...(index === 0 && { wait: gate.promise }),
      }),
    })
    const life = wake()
    const first = await life.take()
    const second = await life.take({ messages: [say('second')] })
    await settle()
    expect(model.requests).toHaveLength(1)
    gate.resolve()
    expect(await first.live!.done).toMatchObject({ result: '0' })
    expect(await second.live!.done).toMatchObject({ result: '1' })
    expect(JSON.stringify(model.requests[1]!.messages)).toMatch(/go.*second/)
  })

  it('F18: are refused once seventeen are there, with when to come back', async () => {
    const { wake } = createSessionWorld({ script: () => ({ wait: never }) })
    const life = wake()
    for (let count = 0; count < 17; count += 1) await life.take()
    const error = await life.take().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'request_queue_full', retryAfterMs: 2_000 })
  })

  it('F17: join the run that is there under their key, side by side or later', async () => {
    const { wake, model } = createSessionWorld(answers)
    const life = wake()
    const taken = await Promise.all([1, 2, 3].map(() => life.take({ idempotencyKey: 'k' })))
    expect(new Set(taken.map(({ receipt }) => receipt.run)).size).toBe(1)
    expect(taken.filter(({ receipt }) => receipt.isJoined)).toHaveLength(2)
    await taken[0]!.live!.done
    expect((await life.take({ idempotencyKey: 'k' })).receipt.isJoined).toBe(true)
    expect(life.store.runs()).toHaveLength(1)
    expect(model.requests).toHaveLength(1)
  })

  it('F17: are refused under a key that was used with another body', async () => {
    const life = createSessionWorld(answers).wake()
    await life.run({ idempotencyKey: 'k' })
    const other = { idempotencyKey: 'k', messages: [say('other')] }
    await refusedWith('request_idempotency_mismatch')(life.take(other))
  })

  it('F32: of a later protocol are refused', async () => {
    const life = createSessionWorld(answers).wake()
    await refusedWith('request_conflict')(life.take({ protocol: 2 }))
  })

  it('T2: of another principal meet a session that is not there', async () => {
    const life = createSessionWorld(answers).wake()
    await life.run()
    await refusedWith('request_not_found')(life.take({ principal: 'someone' }))
  })
})

describe('a run whose first write is refused', () => {
  it.each([
    ['its first model call', {}],
    ['its end', { maxTokens: 100 }],
  ])('F7: with %s is not accepted and leaves nothing, not even a gap', async (_what, limits) => {
    const { wake, failWhere } = createSessionWorld({ ...answers, limits })
    const life = wake()
    await life.run()
    failWhere((query) => query.startsWith('INSERT INTO log'))
    const { live } = await life.take()
    await expect(live!.accepted).rejects.toThrow()
    await expect(live!.done).rejects.toThrow()
    failWhere(() => false)
    await life.run()
    const events = life.events()
    expect(events).toEqual(events.map((_, index) => index + 1))
    expect(life.store.runs()).toHaveLength(2)
  })
})

describe('a reader of a session', () => {
  it('F7: is not left hanging when its only run could not be taken in', async () => {
    const gate = Promise.withResolvers<void>()
    const { wake, failWhere } = createSessionWorld({
      ...answers,
      reserve: async ({ asked }) => (await gate.promise, asked),
    })
    const life = wake({ limits: {} })
    const { live } = await life.take()
    const stream = life.hub.attach({ afterSeq: 0, follow: true, ...logOf([]) })
    failWhere((query) => query.startsWith('INSERT INTO log'))
    gate.resolve()
    await expect(live!.done).rejects.toThrow()
    expect(await new Response(stream).text()).toBe('')
  })
})

describe('a run that was accepted', () => {
  it('F4, N12: has a timer that wakes its object without traffic', async () => {
    const { wake, timers } = createSessionWorld({ script: () => ({ wait: never }) })
    await (
      await wake().take()
    ).live!.accepted
    expect(timers.get('recover')).toBeDefined()
  })

  it('F7: is ended later, by the timer, when its end could not be written', async () => {
    const gate = Promise.withResolvers<void>()
    const { wake, failWhere, told } = createSessionWorld({
      script: (_request, index) => ({ text: 'hi', ...(index === 0 && { wait: gate.promise }) }),
    })
    const life = wake()
    const { live } = await life.take()
    await live!.accepted
    failWhere((query) => query.startsWith('INSERT INTO log'))
    gate.resolve()
    await expect(live!.done).rejects.toThrow('SQLITE_FULL')
    await settle()
    expect(told).toMatchObject([{ kind: 'storage_failed' }])
    failWhere(() => false)
    expect(await life.upkeep.onJob('recover')).toBeGreaterThan(0)
    await settle()
    expect(life.store.final(1)?.state).toBe('completed')
  })

  it('F10: is not forgotten by a timer whose work fails: it comes back', async () => {
    const { wake, failWhere, told } = createSessionWorld({ script: () => ({ wait: never }) })
    const life = wake()
    await (
      await life.take()
    ).live!.accepted
    failWhere((query) => query.includes('sqlite_master'))
    expect(await life.upkeep.onJob('recover')).toBeGreaterThan(0)
    expect(told).toMatchObject([{ kind: 'alarm_failed' }])
  })

  it('E1: is charged at a wake with the model call that the crash may have cut', async () => {
    const { wake } = createSessionWorld({
      script: (_request, index) => (index === 0 ? { wait: never } : { text: 'hi' }),
    })
    const { receipt } = await wake().take()
    await settle()
    const life = wake()
    life.runs.resume()
    expect(await life.runs.live(receipt.run)!.done).toMatchObject({
      state: 'completed',
      usage: { tokens: 150 + 110, modelCalls: 2 },
    })
  })

  it('F36: is given up when it was interrupted five times in the same turn, and said so', async () => {
    const { wake, told } = createSessionWorld({ script: () => ({ wait: never }) })
    const { receipt } = await wake().take()
    await settle()
    let life = wake()
    for (let wakes = 1; wakes <= 6; wakes += 1) {
      expect(life.store.final(1)).toBeUndefined()
      life = wake()
      life.runs.resume()
      await settle()
    }
    expect(life.store.final(1)).toMatchObject({ id: receipt.run, error: { code: 'run_given_up' } })
    expect(told.map(({ kind }) => kind)).toContain('run_given_up')
  })

  it.each([
    ['a turn', `UPDATE log SET body = '{"turn":1}' WHERE run = 1 AND turn = 1`],
    [
      'its submission',
      `UPDATE log SET body = json_remove(body, '$.submission.messages') WHERE run = 1 AND turn = 0`,
    ],
  ])('F36: costs no other run anything when %s has another shape', async (_what, damage) => {
    const { wake, sqlite } = createSessionWorld({
      script: (_request, index) => (index === 0 ? { calls: [{ name: 'mail' }] } : { text: 'hi' }),
      entries: [toolEntry('mail', async () => says('sent'), { isReadOnly: false })],
    })
    await wake().run()
    sqlite.exec('DELETE FROM log WHERE run = 1 AND is_final = 1')
    sqlite.exec(damage)
    const next = wake()
    next.runs.resume()
    await settle()
    expect(await next.run()).toMatchObject({ state: 'completed' })
    expect(next.runs.isBehind()).toBe(false)
    expect(next.store.final(1)?.success).not.toBe(true)
  })

  it('F36: is given up when a row of it cannot be read, and harms no other', async () => {
    const { wake, sqlite } = createSessionWorld({
      script: (_request, index) =>
        index % 2 === 0 ? { calls: [{ name: 'mail' }] } : { text: 'hi' },
      entries: [toolEntry('mail', async () => says('sent'), { isReadOnly: false })],
    })
    const life = wake()
    const broken = await life.run()
    sqlite.exec(`UPDATE log SET body = '{"turn":1,' WHERE run = 1 AND turn = 1`)
    sqlite.exec(`DELETE FROM log WHERE run = 1 AND turn = 2`)
    const next = wake()
    next.runs.resume()
    expect(isEnded(broken)).toBe(true)
    expect(next.store.final(1)?.error?.code).toBe('run_given_up')
    expect(await next.run()).toMatchObject({ state: 'completed' })
  })

  it('E8: stays cancelled when a crash comes right after, whether it works or waits', async () => {
    const { wake } = createSessionWorld({ script: () => ({ wait: never }) })
    const life = wake()
    const first = await life.take()
    await first.live!.accepted
    const second = await life.take()
    for (const { receipt } of [first, second]) {
      void life.runs.cancel(life.row(receipt.run), 'enough')?.done.catch(() => {})
      expect(wake().row(receipt.run).cancelReason).toBe('enough')
    }
  })

  it('I15: keeps the first reason it was cancelled for', async () => {
    const { wake } = createSessionWorld({ script: () => ({ wait: never }) })
    const life = wake()
    const { live, receipt } = await life.take()
    await live!.accepted
    void life.runs.cancel(life.row(receipt.run), 'first')?.done.catch(() => {})
    void life.runs.cancel(life.row(receipt.run), 'second')?.done.catch(() => {})
    expect(life.row(receipt.run).cancelReason).toBe('first')
  })
})

describe('what a run leaves to be told elsewhere', () => {
  const background = { ...lineage, isBackground: true }

  it('I10: is written with its last turn, or neither is', async () => {
    const { wake, failWhere, sqlite } = createSessionWorld(answers)
    const life = wake()
    failWhere((query) => query.startsWith('INSERT OR REPLACE INTO todo'))
    await life.run({ lineage: background }).catch(() => {})
    expect(life.store.unfinishedRuns()).toHaveLength(1)
    expect(sqlite.prepare('SELECT 1 FROM log WHERE is_final = 1').all()).toEqual([])
  })

  it('I10: is carried again until it arrives, over lives and by the timer alone', async () => {
    const delivered: string[] = []
    let isAway = true
    const { wake, timers } = createSessionWorld({
      ...answers,
      others: {
        async deliver({ call }) {
          if (isAway) throw new Error('Network connection lost.')
          delivered.push(call)
          return { ok: true, value: null }
        },
      },
    })
    await wake().run({ lineage: background })
    await settle()
    expect(timers.get('recover')).toBeDefined()
    isAway = false
    const life = wake()
    await life.upkeep.onJob('recover')
    await life.upkeep.onJob('recover')
    expect(delivered).toEqual(['call_above'])
    expect(life.courier.isDone()).toBe(true)
  })

  it('E8: is the end of what it started and did not wait for', async () => {
    const cancelled: unknown[] = []
    const { wake, clock } = createSessionWorld({
      script: () => ({ calls: [{ name: 'child' }] }),
      entries: [
        toolEntry('child', async (_input, { call, emit }) => {
          const data = { call, agent: 'child', session: 'ses_child' }
          emit({ type: 'agent_invoked', data })
          return never
        }),
      ],
      others: { cancelCall: async (...args) => void cancelled.push(args) },
    })
    const life = wake()
    const { live, receipt } = await life.take()
    await settle()
    void life.runs.cancel(life.row(receipt.run), 'enough')
    await settle()
    await clock.advance(1_000) // it does not say what it has spent
    expect(await live!.done).toMatchObject({ state: 'cancelled' })
    await settle()
    expect(cancelled).toMatchObject([[receipt.run, expect.any(String), expect.any(String)]])
  })
})

describe('a call that was cancelled before it came', () => {
  const grave = { parentRun: 'run_above', call: 'call_above', reason: 'enough', atMs: 0 }

  it('E8: begins nothing', async () => {
    const { wake, model } = createSessionWorld(answers)
    const life = wake()
    life.todo.addTombstone(grave)
    await refusedWith('request_conflict')(life.take({ lineage }))
    expect(model.requests).toHaveLength(0)
  })

  it('E8: begins nothing either when the cancel comes while its agent is looked up', async () => {
    const gate = Promise.withResolvers<void>()
    const { wake, model } = createSessionWorld({ ...answers, loading: () => gate.promise })
    const life = wake()
    const taking = life.take({ lineage })
    await settle()
    life.todo.addTombstone(grave)
    gate.resolve()
    await refusedWith('request_conflict')(taking)
    expect(model.requests).toHaveLength(0)
  })
})

describe('a stateless session', () => {
  it('docs/design.md section 11: looks every month whether it is to be kept for less', async () => {
    const { wake, runtime, clock, timers } = createSessionWorld(answers)
    const monthMs = 30 * 86_400_000
    const life = wake()
    await life.run()
    await life.upkeep.onJob('recover')
    expect(timers.get('retention')?.time).toBe(clock.nowMs() + monthMs)
    await clock.advance(monthMs)
    expect(await life.upkeep.onJob('retention')).toBe(clock.nowMs() + monthMs)
    await clock.advance(monthMs)
    Object.assign(runtime.timing, { keepNamedMs: 61 * 86_400_000 })
    expect(await life.upkeep.onJob('retention')).toBe(clock.nowMs() + 86_400_000)
  })
})

describe('a call that was cancelled and never came', () => {
  const grave = { parentRun: 'run_above', reason: 'enough' }

  it('is forgotten after a day, one after the other, and nothing is left', async () => {
    const { wake, clock, timers, runtime, sqlite } = createSessionWorld(answers)
    const { keepGravesMs } = runtime.timing
    const rows = () => sqlite.prepare('SELECT key FROM todo').all().length
    const life = wake()
    const bury = (call: string) => {
      life.todo.addTombstone({ ...grave, call, atMs: clock.nowMs() })
      life.upkeep.keepTombstones()
    }
    bury('call_1')
    const firstMs = clock.nowMs()
    expect(timers.get('graves')?.time).toBe(firstMs + keepGravesMs)
    await clock.advance(keepGravesMs - 1)
    bury('call_2')
    expect(await life.upkeep.onJob('graves')).toBe(firstMs + keepGravesMs)
    expect(rows()).toBe(2)
    await clock.advance(1)
    expect(await life.upkeep.onJob('graves')).toBe(firstMs + 2 * keepGravesMs - 1)
    expect([
      life.todo.tombstoneOf('run_above', 'call_1'),
      life.todo.tombstoneOf('run_above', 'call_2'),
    ]).toEqual([undefined, 'enough'])
    await clock.advance(keepGravesMs)
    expect(await life.upkeep.onJob('graves')).toBeUndefined()
    expect(rows()).toBe(0)
  })
})

describe('what comes in for a run', () => {
  const delivery = {
    call: 'call_1',
    agent: 'child',
    session: 'ses_child',
    isBackground: true,
    result: { ...says('found'), usage: { ...zeroUsage, tokens: 40 } },
  }

  it('F31, I10: is taken once, however often it is delivered', async () => {
    const life = createSessionWorld(answers).wake()
    const { id: parentRun } = await life.run()
    const deliver = () => takeDelivery({ ...delivery, parentRun }, life)
    expect([deliver(), deliver()]).toEqual(['taken', 'known'])
    expect(life.row(parentRun).inbox).toHaveLength(1)
  })

  it('F31: answers a waiting call once: the first answer stands', async () => {
    const { wake } = createSessionWorld({ script: () => ({ wait: never }) })
    const life = wake()
    const { live, receipt } = await life.take()
    await live!.accepted
    const deliver = (text: string) =>
      takeDelivery(
        { ...delivery, parentRun: receipt.run, isBackground: false, result: says(text) },
        life,
      )
    expect([deliver('first'), deliver('second')]).toEqual(['taken', 'known'])
    expect(life.row(receipt.run).answers?.['call_1']).toMatchObject({ result: says('first') })
  })

  it('F17: is one message under one id, and no other one', async () => {
    const { wake } = createSessionWorld({ script: () => ({ wait: never }) })
    const life = wake()
    const { live, receipt } = await life.take()
    await live!.accepted
    const steer = (text: string) =>
      steerRun(life.row(receipt.run), { id: 'key:k', message: say(text) }, life)
    expect([steer('and b'), steer('and b')]).toEqual([1, 1])
    expect(() => steer('and c')).toThrow('another body')
    expect(life.row(receipt.run).inbox).toHaveLength(1)
  })
})

describe('a run that waits for an approval', () => {
  const waiting = async () => {
    const world = createSessionWorld({
      script: (_request, index) =>
        index === 0 ? { calls: [{ name: 'mail', input: { to: 'a' } }] } : { text: 'done' },
      entries: [
        toolEntry('mail', async () => says('sent'), { isReadOnly: false, needsApproval: true }),
      ],
    })
    const life = world.wake()
    const outcome = await life.run()
    if (outcome.state !== 'parked') throw new Error('not parked')
    const [pause] = outcome.pauses
    return { world, life, run: outcome.id, pause: pause! }
  }

  const decideAt =
    ({ world, life, run, pause }: Awaited<ReturnType<typeof waiting>>) =>
    (decision: Decision, nowMs = world.clock.nowMs(), by?: string) =>
      decideCalls(
        life.row(run),
        {
          decisions: [{ call: pause.call, decision }],
          nowMs,
          pauseMs,
          sha256,
          ...(by !== undefined && {
            decider: { principal: by, role: 'operator', via: 'session' },
          }),
        },
        life,
      )

  it('E6, T21: takes no approval of other arguments', async () => {
    const parked = await waiting()
    const decide = decideAt(parked)
    expect(() => decide({ decision: 'approve', argsHash: '0'.repeat(64) })).toThrow(
      'not those that were shown',
    )
    expect(parked.life.row(parked.run).answers).toBeUndefined()
  })

  it('E6, T2: takes no approval of an operator who was not shown the arguments', async () => {
    const parked = await waiting()
    const { life, run, pause, world } = parked
    const decide = (decision: Decision) => decideAt(parked)(decision, world.clock.nowMs(), 'ops')
    expect(() => decide({ decision: 'approve' })).toThrow('argsHash')
    expect(life.row(run).answers).toBeUndefined()
    decide({ decision: 'approve', argsHash: pause.argsHash })
    // Decided is decided: the same again is no news.
    decide({ decision: 'approve' })
    expect(await life.runs.live(run)!.done).toMatchObject({ actions: [{ ok: true }] })
  })

  it('E6: takes the same decision twice, and refuses another one', async () => {
    const parked = await waiting()
    const { life, run } = parked
    const decide = decideAt(parked)
    decide({ decision: 'deny' })
    decide({ decision: 'deny' })
    expect(() => decide({ decision: 'approve' })).toThrow('otherwise')
    expect(await life.runs.live(run)!.done).toMatchObject({
      actions: [{ ok: false, code: 'tool_denied' }],
    })
  })

  it('E6: takes no decision any more once its time is over, though no timer has come', async () => {
    const parked = await waiting()
    const decide = decideAt(parked)
    expect(() => decide({ decision: 'approve' }, parked.pause.expiresAtMs)).toThrow('too late')
    expect(parked.life.row(parked.run).answers).toBeUndefined()
  })

  it('E6: has a timer for the end of the wait, and ends it then and not before', async () => {
    const { world, life, run, pause } = await waiting()
    await settle()
    expect(world.timers.get('pauses')?.time).toBe(pause.expiresAtMs)
    const at = (nowMs: number) => expirePauses(life, { nowMs, pauseMs })
    expect(at(pause.expiresAtMs! - 1)).toBe(pause.expiresAtMs)
    expect(life.row(run).answers).toBeUndefined()
    expect(at(pause.expiresAtMs!)).toBeUndefined()
    expect(await life.runs.live(run)!.done).toMatchObject({
      state: 'completed',
      actions: [{ ok: false, code: 'tool_expired' }],
    })
  })

  it('I16: goes on behind a later run, and the log is read in the order of its places', async () => {
    const parked = await waiting()
    const { life, run } = parked
    await life.run({ messages: [say('next')] })
    decideAt(parked)({ decision: 'deny' })
    await life.runs.live(run)!.done
    const after = (seq: number) => [...pagesAfter(life.store, seq, 1_000)].flat()
    const places = after(0).map(({ seq }) => seq)
    expect(places).toEqual(places.map((_, index) => index + 1))
    expect(new Set(after(0).map((event) => event.run)).size).toBe(2)
    const half = Math.floor(places.length / 2)
    expect(after(half).map(({ seq }) => seq)).toEqual(places.slice(half))
  })
})

describe('the lease of a run', () => {
  it('E1: is what the other runs of its session left of the limits', async () => {
    const { wake, model } = createSessionWorld(answers)
    const life = wake({ limits: { maxTokens: 220 } })
    expect(await life.run()).toMatchObject({ state: 'completed', usage: { tokens: 110 } })
    expect(await life.run()).toMatchObject({ state: 'stopped', error: { code: 'lease_tokens' } })
    expect(model.requests).toHaveLength(1)
  })

  it("E1: is reserved of the principal's day before anything is spent, and settled after it", async () => {
    const world = createSessionWorld({
      ...answers,
      reserve: async () =>
        Promise.reject(Object.assign(new Error('used up'), { code: 'lease_tokens' })),
    })
    await expect(world.wake().run()).rejects.toMatchObject({ code: 'request_insufficient_quota' })
    expect(world.model.requests).toHaveLength(0)
    const other = createSessionWorld(answers)
    const { id } = await other.wake().run()
    await settle()
    expect(other.reserved).toEqual([id])
    expect(other.settled).toEqual([{ run: id, tokens: 110 }])
  })

  it('E1: books a background call with its whole lease until it reports what it took', async () => {
    const { wake } = createSessionWorld({
      script: (_request, index) => (index === 0 ? { calls: [{ name: 'child' }] } : { text: 'hi' }),
      entries: [
        toolEntry('child', async () => says('started'), {
          isIdempotent: true,
          spends: { ...agentSpec().limits, maxTokens: 5_000 },
        }),
      ],
    })
    const life = wake()
    const { id: parentRun } = await life.run()
    const spent = async () => {
      const { spentByRun } = await import('../../../src/runtime/session/log/spending.ts')
      return spentByRun(life.row(parentRun), life.store.turns(1)).tokens
    }
    expect(await spent()).toBe(220 + 5_000)
    const { id: call } = life.store.turns(1)[0]!.calls[0]!
    takeDelivery(
      {
        parentRun,
        call,
        agent: 'child',
        session: 'ses_child',
        isBackground: true,
        result: { ...says('found'), usage: { ...zeroUsage, tokens: 40 } },
      },
      life,
    )
    expect(await spent()).toBe(220 + 40)
  })
})

describe('the record of a session', () => {
  it('M5, F15: is kept while the database is away, then sent once, in order, over lives', async () => {
    const { wake, audit, setAuditAway } = createSessionWorld(answers)
    setAuditAway(true)
    const life = wake()
    await life.run()
    expect(await life.outbox.flush()).toBe(false)
    setAuditAway(false)
    const next = wake()
    expect(await next.outbox.flush()).toBe(true)
    const third = wake()
    await third.run()
    expect(await third.outbox.flush()).toBe(true)
    expect(audit.map(({ seq }) => seq)).toEqual(third.events())
    expect(audit.length).toBeGreaterThan(4)
  })

  it('lists the session with it, as it stands: with a name, without one, or as a sub-agent', async () => {
    for (const [about, kind] of [
      [{}, 'named'],
      [{ isStateless: true }, 'stateless'],
      [{ lineage }, 'child'],
    ] as const) {
      const { wake, listed, clock } = createSessionWorld(answers)
      const life = wake({ createdAtMs: 3, ...about })
      await life.outbox.flush()
      expect(listed()).toEqual({ agent: 'tester', kind, usedAtMs: 3, runs: 0 })
      if (kind === 'child') continue
      await life.run({ isStateless: kind === 'stateless' })
      await life.outbox.flush()
      const usedAtMs = clock.nowMs()
      expect(listed()).toMatchObject({ kind, usedAtMs, runs: 1, state: 'completed' })
    }
  })

  it('has a timer for a session that was only made, until it is listed', async () => {
    const { wake, listed, timers, setAuditAway } = createSessionWorld(answers)
    setAuditAway(true)
    const life = wake({ createdAtMs: 3 })
    life.upkeep.afterCreate()
    expect(await life.upkeep.onJob('recover')).toBeGreaterThan(0)
    setAuditAway(false)
    const next = wake() // another life knows nothing of the first one's
    expect(timers.has('recover')).toBe(true)
    expect(await next.upkeep.onJob('recover')).toBeUndefined()
    expect(listed()).toMatchObject({ runs: 0 })
    expect(timers.has('retention')).toBe(true)
  })

  it('F36: is not held up by a run whose state cannot be read', async () => {
    const { wake, sqlite, listed, audit } = createSessionWorld(answers)
    await wake().run()
    sqlite.exec('DELETE FROM log WHERE is_final = 1 AND turn > 1')
    sqlite.exec(
      `UPDATE log SET is_final = 0, body = json_remove(json_set(body, '$.calls', json('[null]')), '$.final', '$.isDone') WHERE turn = 1`,
    )
    const next = wake()
    expect(await next.outbox.flush()).toBe(true)
    expect(listed()).toMatchObject({ kind: 'named', runs: 1 })
    expect(listed()?.state).toBeUndefined()
    expect(audit.length).toBeGreaterThan(0)
  })

  it('is off the list before the session is gone, and the session stays while that cannot be', async () => {
    const { wake, runtime, listed } = createSessionWorld(answers)
    const life = wake()
    await life.run()
    const { unlist } = runtime.audit
    const away = { ...runtime.audit, unlist: async () => Promise.reject(new Error('away')) }
    Object.assign(runtime.audit, away)
    const gone = () => deleteSession('operator', life, runtime)
    await expect(gone()).rejects.toMatchObject({ code: 'request_unavailable' })
    expect([life.store.session()?.id, listed()?.runs]).toEqual([session, 1])
    Object.assign(runtime.audit, { unlist })
    await gone()
    expect([life.store.session(), listed()]).toEqual([undefined, undefined])
  })

  it('F15: keeps its timer until the database has it', async () => {
    const { wake, setAuditAway, told } = createSessionWorld(answers)
    setAuditAway(true)
    const life = wake()
    await life.run()
    expect(await life.upkeep.onJob('recover')).toBeDefined()
    expect(told).toMatchObject([{ kind: 'audit_behind', session }])
    setAuditAway(false)
    expect(await life.upkeep.onJob('recover')).toBeUndefined()
    expect(told.at(-1)).toMatchObject({ kind: 'audit_behind', isOver: true })
  })
})

describe('P16: what hooks are told of a session', () => {
  it('that it ends, while it is still there', async () => {
    const { wake, runtime } = createSessionWorld(answers)
    const life = wake()
    await life.run()
    const told: unknown[] = []
    const onSessionEnded: SessionRuntime['onSessionEnded'] = async (ended) => {
      told.push({ ...ended, isThere: life.store.session() !== undefined })
    }
    await deleteSession('operator', life, { ...runtime, onSessionEnded })
    expect(told).toEqual([
      {
        session,
        rootSession: session,
        principal: 'operator',
        agent: 'tester',
        isThere: true,
      },
    ])
    expect(life.store.session()).toBeUndefined()
  })

  it('which run begins it, and which one leaves behind what was said last', async () => {
    const { wake, runtime } = createSessionWorld(answers)
    const openings = openingsOf(runtime)
    const life = wake()
    const first = await life.run()
    const second = await life.run()
    await life.run({ after: { run: second.id, turn: 0 } })
    await life.run({ after: { run: first.id, turn: 0 } })
    expect(openings).toEqual(['start', undefined, undefined, 'reset'])
  })
})
