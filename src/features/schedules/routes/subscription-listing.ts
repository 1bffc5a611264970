import { defined } from '#contracts/defined.ts'
import type { Schedule, Slot } from '#runtime/session/types/schedule.ts'
import { toListing, toSlotListing } from './listing.ts'
import type { FiringListing, SubscriptionListing } from './replies.ts'

/** A subscription as the API shows it. */
export function toSubscriptionListing(one: Schedule, nowMs: number): SubscriptionListing {
  const { session, when, work } = one.spec
  const { id, owner, principal, name, paused, limits, daily, stopAfterFailures, deliver, ...of } =
    toListing(one, nowMs)
  if (!('event' in when)) throw new Error('It is no subscription.')
  const { ttlMs, event, where, maxDepth, of: whose } = when
  const { agent, ...asked } = work
  return {
    id,
    owner,
    principal,
    name,
    state: paused ? 'paused' : 'active',
    ...defined({ paused }),
    event,
    ...defined({ where }),
    of: whose,
    agent,
    task: 'task' in asked ? asked.task : asked.tool,
    ...('model' in asked && { model: asked.model }),
    ...defined({ session }),
    ttlMinutes: ttlMs / 60_000,
    maxDepth,
    ...defined({ limits }),
    daily,
    stopAfterFailures,
    deliver,
    createdAtMs: of.createdAtMs,
    failures: of.failures,
    today: of.today,
  }
}

/** A firing as the API shows it: the event's origin, without its payload. */
export function toFiringListing(slot: Slot): FiringListing {
  const { slotMs, isManual: _, ...rest } = toSlotListing(slot)
  const { cause, count } = slot
  const firing = { atMs: slotMs, ...rest, ...defined({ count }) }
  if (!cause) return firing
  const { id, name, principal, session, run, trace, chain } = cause
  return {
    ...firing,
    event: { id, name, principal, session, run },
    trace,
    depth: chain.depth,
    expiresAtMs: chain.expiresAtMs,
  }
}
