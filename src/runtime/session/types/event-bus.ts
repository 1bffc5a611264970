import type { JsonObject } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'
import type { EventChain } from '#contracts/event-bus.ts'
import type { PlatformCount } from '#contracts/platform.ts'

/** An event on its way to its subscribers. Plain data: it crosses Durable Object RPC. */
export interface Emitted {
  /** `<session>:<seq>`: its place in its emitter's log. */
  readonly id: string
  /** `<plugin>.<event>` as its manifest declares it, or `isola.<kind>` of our own. */
  readonly name: string
  readonly atMs: number
  /** The owner of the session. */
  readonly principal: string
  readonly session: string
  readonly run: string
  readonly agent: string
  /** W3C trace id: that of the chain's first run, so that it names the whole chain. */
  readonly trace: string
  readonly payload: JsonObject
  readonly label: Label
  /** Every principal may subscribe to it. */
  readonly isPublic?: true
  /** Absent where no event began the run that emitted it. */
  readonly chain?: EventChain
}

/** The object that has a subscription: a principal's, or a plugin's for the deployment. */
export type SubscriptionOwner = `principal:${string}` | `plugin:${string}`

/** Carries events from logs to subscribers. Throws `request_unavailable`. */
export interface EventBus {
  /** The objects with a subscription that may want an event, by event id. */
  readonly ownersOf: (
    events: readonly Emitted[],
    counted?: PlatformCount['count'],
  ) => Promise<ReadonlyMap<string, readonly SubscriptionOwner[]>>
  /** Delivers an event. A repeated delivery has no effect. */
  readonly tell: (owner: SubscriptionOwner, event: Emitted) => Promise<void>
}
