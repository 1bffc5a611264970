import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Approver } from '../../../src/contracts/approval.ts'
import type { Decider, Decision, Pause } from '../../../src/runtime/kernel/types/pause.ts'
import {
  decidedAlready,
  digestible,
  refuseUnlessMay,
  ruleOf,
  tooLate,
} from '../../../src/runtime/session/waiting/approvals.ts'
import { decideCalls, expirePauses } from '../../../src/runtime/session/waiting/outside.ts'
import { says, toolEntry } from '../../fakes/kernel.ts'
import { createSessionWorld, settle } from '../../switches/session-world.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const pauseMs = 1_000
const said = (role: Decider['role'], principal: string = role): Decider => ({
  principal,
  role,
  via: 'session',
})
const approval = (approver: Approver) => ({
  id: 'apr_1',
  approver,
  asker: { principal: 'ann', agent: 'writer', session: 'ses_1', run: 'run_1' },
  reason: 'destructive',
  rule: '',
  sinks: [],
  isDestructive: true,
  argsHash: 'hash',
  shape: 'shape',
})

describe('who decides about a call that waits', () => {
  const decide = (
    pause: Pick<Pause, 'kind' | 'approval'>,
    decision: 'approve' | 'deny' | 'result',
    decider: Decider,
  ) => {
    try {
      refuseUnlessMay(pause, { decision }, { decider, owner: 'ann' })
      return 'taken'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const forbidden = 'request_forbidden'

  it('E6: is the approver that the policy names; its owner may always say no', () => {
    const waits = { kind: 'approval', approval: approval('operator') } as const
    expect(decide(waits, 'approve', said('user', 'ann'))).toBe(forbidden)
    expect(decide(waits, 'approve', said('author', 'ann'))).toBe(forbidden)
    expect(decide(waits, 'deny', said('user', 'ann'))).toBe('taken')
    expect(decide(waits, 'deny', said('user', 'eve'))).toBe(forbidden)
    expect(decide(waits, 'approve', said('operator'))).toBe('taken')
  })

  it('P21: is no author where something else than a yes of one is waited for', () => {
    const waits = { kind: 'approval', approval: approval('author') } as const
    expect(decide(waits, 'approve', said('author', 'bob'))).toBe('taken')
    for (const kind of ['question', 'client_tool', 'budget', 'session'] as const)
      expect(decide({ kind, approval: approval('author') }, 'result', said('author', 'bob'))).toBe(
        forbidden,
      )
  })
})

describe('a decision', () => {
  it('is the same whatever was shown, and another one if it allows more', () => {
    const text = (decision: Decision) => JSON.stringify(digestible(decision))
    const once = text({ decision: 'approve' })
    expect(text({ decision: 'approve', argsHash: 'a' })).toBe(once)
    expect(text({ decision: 'approve', argsHash: 'a', also: 'always' })).not.toBe(once)
  })

  it('E6: that comes again or late does nothing and says who was quicker, or that it is late', () => {
    const who = { ...said('operator', 'ops'), atMs: Date.UTC(2026, 0, 2) }
    expect(decidedAlready('x', { who, isSame: true }).message).toContain(
      'by ops (operator) at 2026-01-02T00:00:00.000Z',
    )
    expect(decidedAlready(tooLate, { who: undefined, isSame: false }).message).toContain('too late')
  })
})

describe('a call that waits for a yes', () => {
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
    return { world, life, run: outcome.id, pause: outcome.pauses[0]! }
  }

  it('E6: is told too late when its time is over, also once its run has ended', async () => {
    const { world, life, run, pause } = await waiting()
    const nowMs = world.clock.nowMs() + pauseMs
    expirePauses(life, { nowMs, pauseMs })
    const decisions = [{ call: pause.call, decision: { decision: 'approve' } as const }]
    const decide = () => decideCalls(life.row(run), { decisions, nowMs, pauseMs, sha256 }, life)
    expect(decide).toThrow('too late')
    const { actions } = (await life.runs.live(run)!.done) as { actions: readonly object[] }
    expect(actions).toMatchObject([{ ok: false, code: 'tool_expired' }])
    expect(decide).toThrow('too late')
  })

  it('E6: is decided about also while another call of its turn runs that was approved before', async () => {
    const slow = Promise.withResolvers<void>()
    const ran: unknown[] = []
    const world = createSessionWorld({
      script: (_request, index) =>
        index === 0
          ? { calls: ['a', 'b'].map((to) => ({ name: 'mail', input: { to } })) }
          : { text: 'done' },
      entries: [
        toolEntry(
          'mail',
          async ({ to }) => {
            ran.push(to)
            if (to === 'a') await slow.promise
            return says('sent')
          },
          { isReadOnly: false, needsApproval: true },
        ),
      ],
    })
    const life = world.wake()
    const outcome = await life.run()
    const { id: run, pauses } = outcome as Extract<typeof outcome, { state: 'parked' }>
    const about = { nowMs: world.clock.nowMs(), pauseMs, sha256, decider: said('user', 'operator') }
    const [one, other] = pauses.map(({ call }) => ({
      decisions: [{ call, decision: { decision: 'approve' } as const }],
      ...about,
    }))
    decideCalls(life.row(run), one!, life)
    await settle()
    expect(ran).toEqual(['a'])
    decideCalls(life.row(run), other!, life)
    slow.resolve()
    await life.runs.live(run)!.done
    await life.runs.live(run)?.done
    expect(ran).toEqual(['a', 'b'])
    expect(life.store.final(1)?.state).toBe('completed')
  })

  it('E6: has on its row who decided about it and when', async () => {
    const { world, life, run, pause } = await waiting()
    const nowMs = world.clock.nowMs()
    const { call, argsHash } = pause
    const decisions = [{ call, decision: { decision: 'approve', argsHash } as const }]
    const decider = said('operator', 'ops')
    decideCalls(life.row(run), { decisions, nowMs, pauseMs, sha256, decider }, life)
    expect(life.row(run).deciders).toEqual({ [call]: { ...decider, atMs: nowMs } })
    await life.runs.live(run)!.done
    const events = life.store.turns(1).flatMap((turn) => turn.events)
    const answered = events.find(({ type }) => type === 'pause_answered')
    expect(answered?.data).toMatchObject({
      answer: 'approved',
      decidedBy: decider,
      scope: 'once',
    })
    expect(answered?.data).not.toHaveProperty('rule', expect.anything())
  })

  it.each([
    ['session', 'session'],
    ['always', 'rule'],
  ] as const)('C7: says on the record which rule a yes for %s made', async (also, scope) => {
    const { world, life, run, pause } = await waiting()
    const { call, argsHash } = pause
    const now = { nowMs: world.clock.nowMs(), pauseMs, sha256 }
    const decision = { decision: 'approve', argsHash, also } as const
    const decider = said('user', 'operator')
    const pauses = [{ ...pause, approval: approval('owner') }]
    const rule = ruleOf(life.row(run), pauses, {
      ...now,
      call,
      decision,
      decider,
      session: 'ses_1',
    })
    decideCalls(life.row(run), { ...now, decisions: [{ call, decision, rule }], decider }, life)
    await life.runs.live(run)!.done
    const events = life.store.turns(1).flatMap((turn) => turn.events)
    const answered = events.find(({ type }) => type === 'pause_answered')
    expect(answered?.data).toMatchObject({ scope, rule: rule!.id })
  })

  it('C7: says of no other answer how far it goes', async () => {
    const { world, life, run, pause } = await waiting()
    const decisions = [{ call: pause.call, decision: { decision: 'deny' } as const }]
    decideCalls(life.row(run), { decisions, nowMs: world.clock.nowMs(), pauseMs, sha256 }, life)
    await life.runs.live(run)!.done
    const events = life.store.turns(1).flatMap((turn) => turn.events)
    const answered = events.find(({ type }) => type === 'pause_answered')
    expect(answered?.data).not.toHaveProperty('scope', expect.anything())
  })

  it('E6: makes a rule of what was shown only, with fields that it has', async () => {
    const { life, run, pause } = await waiting()
    const { call, argsHash } = pause
    const pauses = [{ ...pause, approval: approval('owner') }]
    const make = (more: object) =>
      ruleOf(life.row(run), pauses, {
        call,
        decision: { decision: 'approve', ...more },
        decider: said('user', 'ann'),
        session: 'ses_1',
        nowMs: 0,
        sha256,
      })
    expect(make({ argsHash })).toBeUndefined()
    expect(() => make({ also: 'always' })).toThrow('argsHash')
    expect(() => make({ argsHash, free: ['to'] })).toThrow('also')
    expect(() => make({ argsHash, also: 'always', free: ['cc'] })).toThrow('free')
    expect(make({ argsHash, also: 'session', free: ['to'], days: 1 })).toMatchObject({
      session: 'ses_1',
      free: { to: 'string' },
      tool: 'mail',
      definitionHash: pause.definitionHash,
      expiresAtMs: 86_400_000,
    })
  })
})
