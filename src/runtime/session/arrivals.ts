import type { Decider } from '#contracts/approval.ts'
import type { Message } from '#contracts/message.ts'
import type { Decision } from '#runtime/kernel/types/pause.ts'
import type { Delivery, RunSpending } from './types/lineage.ts'
import type { RunView } from './types/run-view.ts'
import type { ConfirmedAttempt, ConfirmRequest } from './types/unconfirmed.ts'
import type { SteerReceipt } from './types/submission.ts'
import { spendingOf } from './log/views.ts'
import type { Submissions } from './submissions.ts'
import type { Scope } from './scope.ts'
import type { FloorKeeper } from './floor-keeper.ts'
import { isOfCall } from './runs/cancelling.ts'
import { undecidedOf } from './storage/open-pauses.ts'
import { stopped } from './upkeep/subtree.ts'
import { beginByOutcome } from './waiting/outcome-runs.ts'
import { confirmAttempt } from './waiting/confirm-attempt.ts'
import { changeLimits, type LimitsChange } from './waiting/change-limits.ts'
import { refuseWithoutAgent } from './waiting/agent-there.ts'
import { ruleOf } from './waiting/approvals.ts'
import { takeDecisions, steerRun, takeDelivery } from './waiting/outside.ts'

/** So long a run that was said yes to waits for the rule of that yes, whatever else is on its way with it. */
const maxRuleMs = 1_000

/** What comes in for runs that are there: from whoever asked for them, from whoever decides, from other sessions. */
export interface Arrivals {
  readonly steer: (
    principal: string,
    run: string,
    message: Message,
    idempotencyKey?: string,
  ) => SteerReceipt
  readonly decide: (
    principal: string,
    run: string,
    decided: {
      readonly call: string
      readonly decision: Decision
      readonly decider: Decider
    },
  ) => Promise<RunView>
  readonly changeLimits: (principal: string, run: string, change: LimitsChange) => Promise<RunView>
  readonly cancelCall: (parentRun: string, call: string, reason: string) => Promise<void>
  readonly endHeld: (credential: string, reason: string) => void
  readonly worksWith: (credential: string) => boolean
  readonly deliver: (delivery: Delivery) => Promise<null>
  readonly confirm: (request: ConfirmRequest) => Promise<ConfirmedAttempt>
  readonly spentBy: (run: string) => RunSpending
}

export function createArrivals(
  scope: Scope,
  admit: Submissions['admit'],
  { revoke }: Pick<FloorKeeper, 'revoke'>,
): Arrivals {
  const { runtime, parts, own, row, view, refuseWhileDeleting } = scope
  return {
    steer(principal, run, message, idempotencyKey) {
      own(principal)
      refuseWhileDeleting()
      const id = idempotencyKey === undefined ? runtime.ids.next('evt') : `key:${idempotencyKey}`
      const place = steerRun(row(run), { id, message }, parts())
      return { session: scope.id(), run, place }
    },
    async decide(principal, run, { call, decision, decider }) {
      own(principal)
      await refuseWithoutAgent(row(run), scope)
      refuseWhileDeleting()
      const { clock, timing, sha256 } = runtime
      const now = { nowMs: clock.nowMs(), pauseMs: timing.pauseMs, sha256 }
      const said = { call, decision, decider }
      const { store, todo, upkeep, courier } = parts()
      const waiting = undecidedOf(row(run), store.turns(row(run).order).at(-1))
      const rule = ruleOf(row(run), waiting, { ...said, ...now, session: scope.id() })
      store.together(() => {
        const isNew = takeDecisions(
          row(run),
          { decisions: [{ ...said, rule }], decider, ...now },
          parts(),
        )
        if (isNew && rule) todo.add({ kind: 'settle', session: scope.id(), run, rule })
      })
      if (rule) {
        upkeep.carry()
        // The next call of its run is to find it; where it cannot be kept soon, that one asks again.
        const late = new AbortController()
        await Promise.race([courier.carry().catch(() => {}), clock.sleep(maxRuleMs, late.signal)])
        late.abort()
      }
      parts().runs.wake(run)
      return view(run)
    },
    async changeLimits(principal, run, change) {
      own(principal)
      await refuseWithoutAgent(row(run), scope)
      refuseWhileDeleting()
      changeLimits(row(run), change, parts())
      return view(run)
    },
    async cancelCall(parentRun, call, reason) {
      const { runs, todo, upkeep, store } = parts()
      // The call that made this session: whatever came to it since was for that call.
      if (isOfCall(parentRun, call)(store.session() ?? {})) return revoke(reason)
      const started = runs.cancelCall(parentRun, call, reason)
      if (started.length === 0) {
        todo.bury({ parentRun, call, reason, atMs: runtime.clock.nowMs() })
        upkeep.keepGraves()
      }
      await Promise.all(started.map(stopped))
    },
    endHeld(credential, reason) {
      parts().runs.cancelHeld(credential, reason)
    },
    worksWith: (credential) => parts().runs.worksWith(credential),
    async deliver(delivery) {
      const { store, todo, upkeep, runs } = parts()
      const { parentRun: run, isBackground } = delivery
      // Nothing begins here any more while it is deleted: the outcome is only noted.
      const { onOutcome: _begins, ...note } = delivery
      // What it did not use goes back to the session at once, and to the day as soon as that can be told.
      store.together(() => {
        const taken = takeDelivery(scope.isDeleting() ? note : delivery, parts())
        if (taken === 'late' || (taken === 'taken' && isBackground))
          todo.add({ kind: 'settle', session: scope.id(), run })
      })
      runs.wake(run)
      upkeep.carry()
      // It is acknowledged when its run is there, or refused: until then it comes again.
      await beginByOutcome(delivery, {
        ...parts(),
        runtime,
        sessionId: scope.id(),
        isDeleting: scope.isDeleting,
        admit: (request) => admit(scope.id(), request, 'result'),
      })
      return null
    },
    async confirm(request) {
      refuseWhileDeleting()
      const confirmed = confirmAttempt(row(request.run), request, {
        ...parts(),
        session: scope.id(),
      })
      parts().upkeep.carry()
      return confirmed
    },
    spentBy(run) {
      const { store, runs } = parts()
      const spending = spendingOf(store.findRun(run), parts())
      return runs.live(run) ? { ...spending, state: 'open' } : spending
    },
  }
}
