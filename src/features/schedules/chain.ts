import type { Emitted } from '#runtime/session/types/audit-sink.ts'
import type { EventChain } from '#contracts/event-bus.ts'
import { joinLabels, labelFrom, type Label } from '#contracts/label.ts'
import type { Schedule, Wanted, When } from '#runtime/session/types/schedule.ts'
import type { ScheduleRows } from './rows.ts'

export const isWanted = (when: When): when is Wanted => 'event' in when

/** Whether an event matches a subscription's pattern; whether it may be seen is `visibilityOf`. */
export const isMatch = (
  { event: pattern, where = {} }: Wanted,
  { name, payload }: Pick<Emitted, 'name' | 'payload'>,
): boolean =>
  (pattern === name || (pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1)))) &&
  Object.entries(where).every(([field, value]) => payload[field] === value)

/**
 * Whether a subscription may see an event: events of its owner's own sessions, events that a manifest made public,
 * and all events where the subscription asks for them and its owner's role allows it (`role`: look it up now).
 */
export function visibilityOf(
  { asker, owner }: Pick<Schedule, 'asker' | 'owner'>,
  { of }: Wanted,
  { principal, isPublic }: Pick<Emitted, 'principal' | 'isPublic'>,
): 'yes' | 'no' | 'role' {
  if (isPublic || principal === asker.principal) return 'yes'
  // A manifest's subscription works in the operator's name, and does not see more for that.
  return of === 'everybody' && owner.startsWith('principal:') ? 'role' : 'no'
}

/** The rules that end every chain of events: the next link for a subscription, or the reason why there is none. */
export function follow(
  { id, when }: { readonly id: string; readonly when: Wanted },
  event: Pick<Emitted, 'id' | 'atMs' | 'chain'>,
  nowMs: number,
): { readonly chain: EventChain } | { readonly why: string } {
  const { depth = 0, via = [], maxDepth = Infinity, expiresAtMs = Infinity } = event.chain ?? {}
  const chain = {
    cause: event.id,
    depth: depth + 1,
    via: [...via, id],
    maxDepth: Math.min(maxDepth, when.maxDepth),
    expiresAtMs: Math.min(expiresAtMs, event.atMs + when.ttlMs),
  }
  if (via.includes(id)) return { why: 'it led to this event itself: a chain does not come back' }
  if (chain.depth > chain.maxDepth)
    return {
      why: `events had begun ${depth} runs one after the other: ${chain.maxDepth} are allowed`,
    }
  if (nowMs >= chain.expiresAtMs) return { why: expired }
  return { chain }
}

export const expired = 'the event is too old'

/**
 * The label of an event for its subscriber: the data of the principal whose session emitted it, and a stranger's
 * where that is another principal.
 */
export function heardLabel(
  { name, label, principal }: Pick<Emitted, 'name' | 'label' | 'principal'>,
  hears: string,
): Label {
  const integrity = principal === hears ? 'data' : 'stranger'
  return joinLabels([
    label,
    labelFrom(`event ${name}`, { integrity, confidentiality: label.confidentiality }),
  ])
}

/** The pattern of all that the emitter of an event emits. */
export const allOf = (name: string): string => `${name.slice(0, name.indexOf('.'))}.*`

/** So long the stops of one reason are one. */
export const hourMs = 3_600_000

/**
 * Counts an event that begins no run with those before it: behind a full queue each would add a row to the history
 * and a row to the record, as long as events come in.
 *
 * @returns False for the first of its hour and reason, which becomes an event.
 */
export function countStop(
  rows: ScheduleRows,
  { id, reason, nowMs }: { readonly id: string; readonly reason: string; readonly nowMs: number },
): boolean {
  const first = rows.skippedSince(id, reason, nowMs - hourMs)
  if (!first) return false
  rows.putSlot({ ...first, count: (first.count ?? 1) + 1 }, undefined)
  return true
}
