import { defined } from '#contracts/defined.ts'
import type { SubscriptionRequestBody } from './subscription-requests.ts'
import { headOf } from '#contracts/cut.ts'
import type { Limits } from '#contracts/lease.ts'
import { subscriptionManifests } from '#contracts/event-bus.ts'
import type { SubscriptionManifest, ScheduleSpec } from '#runtime/session/types/schedule.ts'
import { scheduleDefaults } from './schedule-spec.ts'

/** The defaults of a subscription. */
const defaults = { ttlMinutes: 60, maxDepth: 4, runsADay: 100 } as const
const minuteMs = 60_000
const maxNameChars = 60

/**
 * The spec of a request, with defaults for fields that it leaves out. One run after the other, in the order of its
 * events.
 */
export function toSubscriptionSpec(
  asked: Omit<SubscriptionRequestBody, 'limits' | 'dryRun'> & { readonly agent: string },
  limits?: Partial<Limits>,
): ScheduleSpec {
  const { event, where, of = 'own', task, agent, model, session, daily = {} } = asked
  const { ttlMinutes = defaults.ttlMinutes, maxDepth = defaults.maxDepth } = asked
  const { runs = defaults.runsADay, tokens = scheduleDefaults.tokensADay, costUsd } = daily
  return {
    name: asked.name ?? headOf(`${event}: ${task}`, maxNameChars).trim(),
    when: { event, ...defined({ where }), of, ttlMs: ttlMinutes * minuteMs, maxDepth },
    work: { agent, task, ...defined({ model }) },
    catchUp: 'all',
    overlap: 'queue',
    jitterMs: 0,
    ...defined({ limits }),
    daily: {
      runs,
      tokens,
      ...(costUsd !== undefined && { costNanoUsd: Math.round(costUsd * 1e9) }),
    },
    stopAfterFailures: asked.stopAfterFailures ?? scheduleDefaults.stopAfterFailures,
    deliver: asked.deliver ?? scheduleDefaults.deliver,
    ...defined({ session }),
  }
}

/** A line of `subscribes`, for its agent. */
export function specOfManifest(
  { max_depth: maxDepth, ttl_minutes: ttlMinutes, runs_a_day: runs, ...rest }: SubscriptionManifest,
  agent: string,
): ScheduleSpec {
  const daily = runs !== undefined && { daily: { runs } }
  return toSubscriptionSpec({ ...rest, agent, maxDepth, ttlMinutes, ...daily })
}

/** The subscriptions of a plugin manifest's agent; empty if there are none. */
export function subscriptionsOfManifest(manifest: unknown): readonly SubscriptionManifest[] {
  const { agent } = Object(manifest) as { readonly agent?: unknown }
  return subscriptionManifests.parse(Object(agent).subscribes) ?? []
}
