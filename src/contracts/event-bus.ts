import type { JsonObject } from './json.ts'
import type { Label } from './label.ts'
import type { PlatformCount } from './platform.ts'

/** How a run came about that an event began: it goes along with all that the run emits, also from below. */
export interface EventChain {
  /** Id of the event that began the run. */
  readonly cause: string
  /** How many runs events have begun one after the other, this one included. */
  readonly depth: number
  /** Ids of the subscriptions on the way. */
  readonly via: readonly string[]
  /** The least of what those on the way allow. */
  readonly maxDepth: number
  /** Epoch milliseconds: from then on nothing of the chain begins a run. */
  readonly expiresAtMs: number
}

/** An event on its way to those who subscribe to it. Plain data: it crosses Durable Object RPC. */
export interface Emitted {
  /** `<session>:<seq>`: its place in its emitter's log. */
  readonly id: string
  /** `<plugin>.<event>` as its manifest declares it, or `isola.<kind>` of our own. */
  readonly name: string
  readonly atMs: number
  /** Whose session it is. */
  readonly principal: string
  readonly session: string
  readonly run: string
  readonly agent: string
  /** W3C trace id: that of the chain's first run, so that it names the whole chain. */
  readonly trace: string
  readonly payload: JsonObject
  readonly label: Label
  /** Everybody may subscribe to it. */
  readonly isPublic?: true
  /** Absent where no event began the run that emitted it. */
  readonly chain?: EventChain
}

/** Whose object keeps a subscription: a person's, or a plugin's for the deployment. */
export type SubscriptionOwner = `principal:${string}` | `plugin:${string}`

/** Takes events from the logs that they are in to those who subscribe to them. Throws `request_unavailable`. */
export interface EventBus {
  /** Whose objects keep a subscription that may want it, for each event by its id. */
  readonly ownersOf: (
    events: readonly Emitted[],
    counted?: PlatformCount['count'],
  ) => Promise<ReadonlyMap<string, readonly SubscriptionOwner[]>>
  /** Told twice it is heard once. */
  readonly tell: (owner: SubscriptionOwner, event: Emitted) => Promise<void>
}

/** Events of sessions that are ours, and that somebody may subscribe to as `isola.<kind>`. */
export const ownEvents = [
  'run_finished',
  'run_parked',
  'budget_reached',
  'loop_suspected',
  'agent_invoked',
  'agent_result',
  'agent_error',
  'floor_taken',
  'floor_ended',
] as const

/** At most so large is a payload, as JSON. */
export const maxPayloadChars = 8_192
export const maxTtlMs = 7 * 86_400_000

/** An event's whole name, or all of one emitter's: `billing.paid`, `billing.*`. */
export const eventPattern = /^[a-z][a-z0-9-]{0,23}\.(?:\*|[a-z][a-z0-9_]{0,47})$/
export const eventPatternProblem =
  'must be the name of an event, or of all of a plugin: billing.paid, billing.*'

/** The pattern of all that the emitter of an event emits. */
export const allOf = (name: string): string => `${name.slice(0, name.indexOf('.'))}.*`
