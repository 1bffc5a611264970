import { describe, expect, it } from 'vitest'
import { unlimited, zeroUsage } from '#contracts/lease.ts'
import { defaultPrincipalTiming, type PrincipalLedger } from '#runtime/session/types/principal.ts'
import type { RunOutcome } from '#runtime/session/types/session-view.ts'
import { createDayLedger } from '../../../src/features/access/day-ledger.ts'
import { createPrincipalRows } from '../../../src/features/access/principal-rows.ts'
import { deleteSession } from '../../../src/runtime/session/upkeep/ending.ts'
import { decideCalls, takeDelivery } from '../../../src/runtime/session/waiting/outside.ts'
import { spendingOf } from '../../../src/runtime/session/log/views.ts'
import { agentSpec, says, sha256, toolEntry } from '../../fakes/kernel.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'
import {
  createSessionWorld,
  pauseMs,
  session,
  settle,
  type WorldOptions,
} from '../../switches/session-world.ts'

const limits = { tokens: 40_000, costNanoUsd: unlimited }
const dayMs = 86_400_000
const mail = toolEntry('mail', async () => says('sent'), {
  isReadOnly: false,
  needsApproval: true,
})
const child = toolEntry(
  'child',
  async (_input, { call, emit }) => {
    const data = { call, agent: 'child', session: 'ses_child', background: true as const }
    emit({ type: 'agent_invoked', data })
    return says('started')
  },
  { isIdempotent: true, spends: { ...agentSpec().limits, maxTokens: 5_000 } },
)

type Settling = Parameters<PrincipalLedger['settle']>[0]

/** A session and the real ledger of its principal's day. `way` is what happens to a settlement on its way there. */
function open(
  { script, entries, others }: Partial<WorldOptions>,
  way: (arrive: () => void) => Promise<void> = async (arrive) => arrive(),
) {
  const ledger = createDayLedger(
    createPrincipalRows(createPrincipalStorage()),
    defaultPrincipalTiming,
  )
  let daysLater = 0
  const world = createSessionWorld({
    script:
      script ??
      ((_request, index) => (index === 0 ? { calls: [{ name: 'mail' }] } : { text: 'ok' })),
    entries: entries ?? [mail],
    limits: { maxTokens: 30_000 },
    ...(others && { others }),
    async reserve(request) {
      const reply = ledger.reserve(request, limits, nowMs())
      if (reply.ok) return reply.value
      throw Object.assign(new Error(reply.error.message), { code: reply.error.code })
    },
  })
  const nowMs = () => world.clock.nowMs() + daysLater * dayMs
  Object.assign(world.runtime.principals, {
    settle: ({ run, spent, step }: Settling) => way(() => ledger.settle(run, spent, nowMs(), step)),
  })
  const life = world.wake()
  return {
    world,
    life,
    ledger,
    passDay: () => void (daysLater += 1),
    day: () => ledger.usage(limits, nowMs()),
    /** Another run of the principal, in another session. */
    take: (run: string, tokens: number) =>
      ledger.reserve(
        { principal: 'operator', session: 'ses_2', run, asked: { tokens, costNanoUsd: 0 } },
        limits,
        nowMs(),
      ),
    settleOther: (run: string, tokens: number) =>
      ledger.settle(run, { tokens, costNanoUsd: 0 }, nowMs()),
    /** The day's object asks the session, as often as it takes. */
    sweep: (run: string) => {
      for (const _ of [1, 2])
        for (const lease of ledger.checks.start(ledger.checks.nextMs(nowMs()) ?? 0))
          if (lease.run === run)
            ledger.checks.finish(run, spendingOf(life.store.findRun(run), life), nowMs())
    },
    approve: (outcome: RunOutcome) => {
      if (outcome.state !== 'parked') throw new Error(`not parked: ${outcome.state}`)
      const decisions = [
        { call: outcome.pauses[0]!.call, decision: { decision: 'approve' } as const },
      ]
      const at = { nowMs: world.clock.nowMs(), pauseMs, sha256 }
      decideCalls(life.row(outcome.id), { decisions, ...at }, life)
    },
    /** The background child says what it took: 40 tokens of 5,000. */
    report: (parentRun: string) => {
      const calls = life.store.turns(1).flatMap((turn) => turn.calls)
      const call = calls.find(({ tool }) => tool === 'child')!.id
      const result = { ...says('found'), usage: { ...zeroUsage, tokens: 40 } }
      const from = { agent: 'child', session: 'ses_child', isBackground: true }
      life.store.together(() => {
        takeDelivery({ parentRun, call, ...from, result }, life)
        life.todo.add({ kind: 'settle', session, run: parentRun })
      })
      life.runs.wake(parentRun)
      life.upkeep.carry()
    },
  }
}

describe('the day of a run that waits', () => {
  it('E1: has back what it reserved and did not spend, and gives it again when the run goes on', async () => {
    const { life, day, approve } = open({})
    const outcome = await life.run()
    await settle()
    expect(day()).toMatchObject({ reserved: { tokens: 0 }, settled: { tokens: 110 }, openRuns: 0 })
    approve(outcome)
    expect(await life.runs.live(outcome.id)!.done).toMatchObject({ usage: { tokens: 220 } })
    await settle()
    expect(day()).toMatchObject({ settled: { tokens: 220 }, openRuns: 0 })
  })

  it('E1: keeps what a waiting call may still spend', async () => {
    const { life, day } = open({
      entries: [
        toolEntry(
          'mail',
          async () => ({
            ok: false,
            error: { code: 'tool_pending', message: 'It waits for somebody.' },
            pause: { kind: 'session', expires: false },
          }),
          { spends: { ...agentSpec().limits, maxTokens: 500 } },
        ),
      ],
    })
    const { id } = await life.run()
    await settle()
    expect(day()).toMatchObject({ reserved: { tokens: 30_000 }, openRuns: 1 })
    expect(spendingOf(life.row(id), life)).toMatchObject({ state: 'open' })
  })

  it('E1: a run that is answered tomorrow goes on though today is used up', async () => {
    const { life, day, take, settleOther, passDay, approve } = open({})
    const outcome = await life.run()
    await settle()
    take('other', 39_890)
    settleOther('other', 39_890)
    expect(take('more', 1)).toMatchObject({ ok: false })
    passDay()
    approve(outcome)
    expect(await life.runs.live(outcome.id)!.done).toMatchObject({ state: 'completed' })
    await settle()
    expect(day()).toMatchObject({ settled: { tokens: 110 }, openRuns: 0 })
  })

  it('I3: has it back though the session could not say so', async () => {
    const { life, day, sweep } = open({}, async () => {
      throw Object.assign(new Error('away'), { code: 'request_unavailable' })
    })
    const { id } = await life.run()
    await settle()
    expect(day()).toMatchObject({ openRuns: 1 })
    sweep(id)
    expect(day()).toMatchObject({ settled: { tokens: 110 }, openRuns: 0 })
  })

  it('I10: is not given twice: a report from before the run went on closes nothing', async () => {
    const late: (() => void)[] = []
    const gate = Promise.withResolvers<void>()
    const { world, life, day, take, approve, report } = open(
      {
        script: (_request, index) =>
          index === 0
            ? { calls: [{ name: 'child' }, { name: 'mail' }] }
            : { text: 'ok', wait: gate.promise },
        entries: [mail, child],
      },
      async (arrive) => void late.push(arrive),
    )
    const outcome = await life.run()
    await settle()
    report(outcome.id) // the day is told once more
    await settle()
    approve(outcome)
    await settle()
    expect(world.model.requests).toHaveLength(2) // it works
    expect(late).toHaveLength(2)
    late.toReversed().forEach((arrive) => arrive())
    expect(day()).toMatchObject({ reserved: { tokens: 30_000 }, openRuns: 1 })
    expect(take('other', 39_000)).toMatchObject({ value: { tokens: 10_000 } })
    gate.resolve()
    await life.runs.live(outcome.id)?.done
    await settle()
    // The end comes before all of that again, and stands.
    late.toReversed().forEach((arrive) => arrive())
    expect(day()).toMatchObject({ settled: { tokens: 260 }, openRuns: 1 })
  })

  it('I10: knows in the end what a background child took, though the session is deleted meanwhile', async () => {
    let isAway = false
    const at: ReturnType<typeof open> = open(
      {
        script: (_request, index) =>
          index === 0 ? { calls: [{ name: 'child' }] } : { text: 'ok' },
        entries: [child],
        others: {
          // The child ends with its deletion, and says what it took.
          async delete() {
            at.report(parentRun)
            return { ok: true, value: { deleted: true } }
          },
        },
      },
      async (arrive) => {
        if (isAway) throw Object.assign(new Error('away'), { code: 'request_unavailable' })
        arrive()
      },
    )
    const { life, world, day } = at
    const { id: parentRun } = await life.run()
    await settle()
    expect(day()).toMatchObject({ settled: { tokens: 5_220 } })
    isAway = true
    const remove = () => deleteSession('operator', life, world.runtime)
    await expect(remove()).rejects.toMatchObject({ code: 'request_unavailable' })
    expect(life.store.session()).toBeDefined()
    isAway = false
    await remove()
    expect(day()).toMatchObject({ settled: { tokens: 260 }, openRuns: 0 })
  })
})
