import type { Decider, Decision } from '#runtime/kernel/types/pause.ts'
import type { Message } from '#contracts/message.ts'
import type { Delivery, PieceAnswer, RunSpending, SteerReceipt } from './types/submission.ts'
import type { RunView } from './types/session-view.ts'
import type { ConfirmedAttempt, ConfirmRequest } from './types/session-api.ts'
import { spendingOf } from './log/views.ts'
import type { Submissions } from './submissions.ts'
import type { SessionAccess } from './session-parts.ts'
import type { FloorKeeper } from './floor-keeper.ts'
import { isOfCall } from './runs/runs.ts'
import { undecidedOf } from './storage/stored-rows.ts'
import { stopped } from './upkeep/ending.ts'
import { beginByOutcome } from './waiting/outcome-runs.ts'
import { confirmAttempt, changeLimits, type LimitsChange } from './waiting/confirm-attempt.ts'
import { refuseWithoutAgent } from './waiting/pauses.ts'
import { ruleOf } from './waiting/approvals.ts'
import { takeDecisions, steerRun, takeDelivery } from './waiting/outside.ts'

/**
 * The longest that an approved run waits for its approval's rule to be stored, whatever other outbox entries are due.
 */
const maxRuleMs = 1_000

/** Input for existing runs: steering, decisions, changed limits, cancels, and results of child sessions. */
export function createRunInputs(
  access: SessionAccess,
  admit: Submissions['admit'],
  { revoke }: Pick<FloorKeeper, 'revoke'>,
) {
  const { runtime, identity, current, own, row, view, refuseWhileDeleting } = access
  const spentBy = (run: string): RunSpending => {
    const { store, runs } = current.parts
    const spending = spendingOf(store.findRun(run), current.parts)
    return runs.live(run) ? { ...spending, state: 'open' } : spending
  }
  return {
    steer(principal: string, run: string, message: Message, idempotencyKey?: string): SteerReceipt {
      own(principal)
      refuseWhileDeleting()
      const id = idempotencyKey === undefined ? runtime.ids.next('evt') : `key:${idempotencyKey}`
      const place = steerRun(row(run), { id, message }, current.parts)
      return { session: identity.id, run, place }
    },
    async decide(
      principal: string,
      run: string,
      {
        call,
        decision,
        decider,
      }: { readonly call: string; readonly decision: Decision; readonly decider: Decider },
    ): Promise<RunView> {
      own(principal)
      await refuseWithoutAgent(row(run), access)
      refuseWhileDeleting()
      const { clock, timing, sha256 } = runtime
      const now = { nowMs: clock.nowMs(), pauseMs: timing.pauseMs, sha256 }
      const said = { call, decision, decider }
      const { store, todo, upkeep, courier } = current.parts
      const waiting = undecidedOf(row(run), store.turns(row(run).order).at(-1))
      const rule = ruleOf(row(run), waiting, { ...said, ...now, session: identity.id })
      store.together(() => {
        const isNew = takeDecisions(
          row(run),
          { decisions: [{ ...said, rule }], decider, ...now },
          current.parts,
        )
        if (isNew && rule) todo.add({ kind: 'settle', session: identity.id, run, rule })
      })
      if (rule) {
        upkeep.carry()
        // The next call of the run finds the rule; if the rule is not stored in time, that call asks again.
        const late = new AbortController()
        await Promise.race([courier.carry().catch(() => {}), clock.sleep(maxRuleMs, late.signal)])
        late.abort()
      }
      current.parts.runs.wake(run)
      return view(run)
    },
    async changeLimits(principal: string, run: string, change: LimitsChange): Promise<RunView> {
      own(principal)
      await refuseWithoutAgent(row(run), access)
      refuseWhileDeleting()
      changeLimits(row(run), change, current.parts)
      return view(run)
    },
    async cancelCall(parentRun: string, call: string, reason: string): Promise<void> {
      const { runs, todo, upkeep, store } = current.parts
      // The call made this session, so every run of the session was for that call.
      if (isOfCall(parentRun, call)(store.session() ?? {})) return revoke(reason)
      const started = runs.cancelCall(parentRun, call, reason)
      if (started.length === 0) {
        todo.addTombstone({ parentRun, call, reason, atMs: runtime.clock.nowMs() })
        upkeep.keepTombstones()
      }
      await Promise.all(started.map(stopped))
    },
    endHeld(credential: string, reason: string): void {
      current.parts.runs.cancelByCredential(credential, reason)
    },
    worksWith: (credential: string): boolean => current.parts.runs.worksWith(credential),
    async deliver(delivery: Delivery): Promise<null> {
      const { store, todo, upkeep, runs } = current.parts
      const { parentRun: run, isBackground } = delivery
      // A session that is being deleted begins no run: it only notes the outcome.
      const { onOutcome: _begins, ...note } = delivery
      // The unused part of the lease goes back to the session at once, and to the day by an outbox entry.
      store.together(() => {
        const taken = takeDelivery(access.isDeleting() ? note : delivery, current.parts)
        if (taken === 'late' || (taken === 'taken' && isBackground))
          todo.add({ kind: 'settle', session: identity.id, run })
      })
      runs.wake(run)
      upkeep.carry()
      // The answer acknowledges the delivery once its run is accepted or refused; without it the delivery comes again.
      await beginByOutcome(delivery, {
        ...current.parts,
        runtime,
        sessionId: identity.id,
        isDeleting: access.isDeleting,
        admit: (request) => admit(identity.id, request, 'result'),
      })
      return null
    },
    async confirm(request: ConfirmRequest): Promise<ConfirmedAttempt> {
      refuseWhileDeleting()
      const confirmed = confirmAttempt(row(request.run), request, {
        ...current.parts,
        session: identity.id,
      })
      current.parts.upkeep.carry()
      return confirmed
    },
    spentBy,
    giveBack: (piece: string): PieceAnswer => current.parts.pieces.giveBack(piece, spentBy),
  }
}
