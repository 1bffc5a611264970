import { defined } from '#contracts/defined.ts'
import { errorMessage } from '#contracts/errors.ts'
import type { Incident } from '#runtime/session/types/principal.ts'
import type { ScheduleIndex } from '#runtime/session/types/schedule-object.ts'
import type { Schedule, Slot } from '#runtime/session/types/schedule.ts'
import type { ScheduleRows, Transactions, Untold } from './rows.ts'
import { settleDue } from './settle.ts'
import { jitterOf } from './slots.ts'
import { createStep, type StepDeps } from './step.ts'
import { missedEvents, nothingSpent, toTold } from './told.ts'

export interface KeeperDeps extends StepDeps {
  readonly index: Pick<ScheduleIndex, 'tell'>
  readonly report: (incident: Incident) => void
  /** Publishes events to subscriptions; absent where the deployment has no bus. A repeated event is recognised. */
  readonly publish?: (untold: readonly Untold[]) => Promise<void>
}

/** History of a schedule: so many slots, and so long. */
export const keepSlots = { most: 2_000, ms: 90 * 86_400_000 }
const maxAtOnce = 20
const tellAgainMs = 30_000
/** The most rounds of one look, one step of each slot a round: begin, check, deliver. */
const maxRounds = 4
/** A schedule under way is due again after so long, so that the watchdog notices a lost alarm. */
const watchedMs = 15 * 60_000

export type Keeper = ReturnType<typeof createKeeper>

/** The work of an object's schedules: settles, begins, checks, delivers and publishes the slots that are due. */
export function createKeeper(rows: ScheduleRows, storage: Transactions, deps: KeeperDeps) {
  const { clock, sha256 } = deps
  const now = () => clock.nowMs()
  const step = createStep(rows, storage, deps)
  let tellAtMs = 0
  const jitter = (schedule: Schedule) => (slotMs: number) => jitterOf(schedule, slotMs, sha256)

  const add = (slot: Slot, open: number): boolean =>
    rows.addSlot(slot, slot.state === 'queued' && open === 0 ? now() : undefined)

  /**
   * Settles the slots that are due. Synchronous: in one transaction with the reads and writes around it.
   *
   * @param how.isNow Without jitter: a slot that is due gets its row at once.
   */
  const settle = (schedule: Schedule, how?: { readonly isNow: true }): Schedule => {
    const { id } = schedule
    const open = rows.open(id)
    const late = how?.isNow ? () => 0 : jitter(schedule)
    const due = settleDue(schedule, now(), { open: open.length }, late)
    if (due.verdicts.length === 0) return schedule
    let count = open.length
    for (const verdict of due.verdicts) {
      const slot = { schedule: id, ...verdict, ...nothingSpent }
      if (add(verdict.state === 'queued' ? slot : { ...slot, endedAtMs: now() }, count))
        count += verdict.state === 'queued' ? 1 : 0
    }
    rows.prune(id, { most: keepSlots.most, sinceMs: now() - keepSlots.ms })
    const { nextMs: _, ...rest } = schedule
    const moved = { ...rest, ...defined({ nextMs: due.nextMs }) }
    return rows.put(moved, missedEvents(schedule, due.verdicts, now()))
  }

  /** When a schedule is due next, jitter included; absent if it is not, or waits for its own firings. */
  const dueMs = (schedule: Schedule): number | undefined => {
    const { nextMs, paused } = schedule
    if (nextMs === undefined || paused) return undefined
    const atMs = nextMs + jitter(schedule)(nextMs)
    const open = rows.open(schedule.id).length
    const isBlocked = settleDue(schedule, now(), { open }, jitter(schedule)).isBlocked
    return isBlocked ? undefined : atMs
  }

  const watchMs = (schedule: Schedule): number | undefined => {
    const due = dueMs(schedule) ?? Infinity
    const next = rows.open(schedule.id).length > 0 ? Math.min(due, now() + watchedMs) : due
    return Number.isFinite(next) ? next : undefined
  }

  const tell = async (): Promise<void> => {
    const untold = rows.untold(maxAtOnce)
    if (untold.length === 0) return
    try {
      await deps.publish?.(untold)
      await deps.index.tell(untold.map((one) => toTold(one, watchMs)))
      for (const { id, version } of untold) rows.told(id, version)
    } catch {
      tellAtMs = now() + tellAgainMs
    }
  }

  return {
    settle,
    dueMs,
    /** A further firing, now or once those before have ended. */
    enqueue: (slot: Slot): void => void add(slot, rows.open(slot.schedule).length),
    /** All that is to be done now. Never throws. */
    async look(): Promise<void> {
      try {
        for (const one of rows.schedules())
          if (!one.paused) storage.transactionSync(() => settle(one))
        for (let round = 0; round < maxRounds; round += 1) {
          const slots = rows.toLook(now(), maxAtOnce)
          if (slots.length === 0) break
          await Promise.all(slots.map(step))
        }
        if (now() >= tellAtMs) await tell()
      } catch (error) {
        deps.report({
          kind: 'alarm_failed',
          session: '',
          message: `Schedules: ${errorMessage(error)}`,
        })
      }
    },
    /** When there is something to do next. */
    nextMs() {
      const dues = rows.schedules().map((one) => dueMs(one) ?? Infinity)
      const tellMs = rows.untold(1).length > 0 ? Math.max(tellAtMs, now()) : Infinity
      const next = Math.min(...dues, rows.nextLookMs() ?? Infinity, tellMs)
      return Number.isFinite(next) ? next : undefined
    },
  }
}
