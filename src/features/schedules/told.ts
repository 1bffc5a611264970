import { defined } from '#contracts/defined.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { Emitted } from '#runtime/session/types/audit-sink.ts'
import { OutboundError } from '#contracts/outbound.ts'
import type {
  DeliverTo,
  Notice,
  Schedule,
  ScheduleChanger,
  Slot,
  SlotDelivery,
  ToldSchedule,
} from '#runtime/session/types/schedule.ts'
import type { DraftEvent, Untold } from './rows.ts'
import type { Verdict } from './settle.ts'

/** So many notices a principal has; the oldest go. */
export const maxNotices = 200

export const nothingSpent = { tokens: 0, costNanoUsd: 0, looks: 0 } as const

/** A change of a schedule, for the record. */
export function changeEvent(
  type: Exclude<DraftEvent['type'], 'schedule_missed' | 'subscription_stopped'>,
  { id, owner, spec }: Schedule,
  by: ScheduleChanger & { readonly atMs: number; readonly reason?: string },
): DraftEvent {
  const { reason, ...place } = by
  const data = { schedule: id, owner, name: spec.name, ...defined({ reason }) }
  return { type, data, ...place }
}

/** That an event began no run, with the reason. */
export function stoppedEvents(
  { id, owner, spec }: Schedule,
  { reason = '' }: Pick<Slot, 'reason'>,
  { id: event, name: eventName, trace, chain }: Emitted,
  atMs: number,
): readonly DraftEvent[] {
  const depth = chain?.depth ?? 0
  const data = { schedule: id, owner, name: spec.name, event, eventName, depth, reason }
  return [{ type: 'subscription_stopped', data, principal: '', trace, atMs }]
}

/** Slots that were skipped, as one event for each reason. */
export function missedEvents(
  { id, owner }: Schedule,
  verdicts: readonly Verdict[],
  atMs: number,
): readonly DraftEvent[] {
  const missed = verdicts.filter(({ state }) => state === 'missed')
  const [first] = missed
  if (!first) return []
  const fromMs = first.slotMs
  const toMs = missed.at(-1)?.slotMs ?? fromMs
  const data = {
    schedule: id,
    owner,
    count: missed.length,
    fromMs,
    toMs,
    reason: first.reason ?? '',
  }
  return [{ type: 'schedule_missed', data, principal: '', trace: '', atMs }]
}

/** The notice of a slot that ended: always if its schedule stopped, otherwise its text, where the schedule wants it. */
export function deliveryOf(
  { to }: DeliverTo,
  { state, text }: Slot,
  stops: boolean,
): SlotDelivery | undefined {
  const waiting = { state: 'waiting', attempts: 0 } as const
  if (stops) return { to: 'principal', ...waiting }
  return to === 'none' || state !== 'done' || text === undefined ? undefined : { to, ...waiting }
}

export const toNotice = (
  { id: schedule, spec: { name } }: Schedule,
  { slotMs, text = '', endedAtMs, session }: Slot,
  id: string,
): Notice => ({
  id,
  atMs: endedAtMs ?? slotMs,
  schedule,
  name,
  text,
  slotMs,
  ...defined({ session }),
})

/** The row for the list in D1; a schedule under way is due again soon, for the watchdog. */
export function toTold(
  { id, schedule, owner, version, events }: Untold,
  dueMs: (schedule: Schedule) => number | undefined,
): ToldSchedule {
  if (!schedule) return { id, owner, version, events }
  const due = dueMs(schedule)
  return { id, owner, version, events, schedule, ...defined({ dueMs: due }) }
}

/** Why a delivery failed, for the schedule's owner. */
export const reasonOfDelivery = (error: unknown): string =>
  error instanceof OutboundError || errorCode(error) !== undefined
    ? errorMessage(error)
    : 'it could not be delivered'
