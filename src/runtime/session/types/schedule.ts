import * as z from 'zod'
import type { JsonObject } from '#contracts/json.ts'
import type { Limits } from '#contracts/lease.ts'
import { type ScheduleKeeper, scheduleRequest } from '#contracts/schedule-requests.ts'
import type { Emitted } from './audit-sink.ts'
import { type EventChain, subscriptionManifest } from '#contracts/event-bus.ts'
import type { Label } from '#contracts/label.ts'
import type { DeploymentDraft } from '#contracts/event.ts'

export type SubscriptionManifest = z.infer<typeof subscriptionManifest>

export type ScheduleRequestBody = z.infer<typeof scheduleRequest>

/** When a schedule is due. A slot is one such moment in epoch milliseconds; the next slot is computed from it. */
export type When =
  | { readonly cron: string; readonly timeZone: string }
  /** Every `everyMs` from `anchorMs` on, whatever time zones do. */
  | { readonly everyMs: number; readonly anchorMs: number }
  /** These moments, in order. */
  | { readonly atMs: readonly number[] }
  | Wanted

/** A subscription: events fire it instead of the clock, so each of its slots is an event. */
export interface Wanted {
  /** A whole name, or `<plugin>.*`. */
  readonly event: string
  /** Fields of the payload that must be equal to these. */
  readonly where?: Readonly<Record<string, string | number | boolean>>
  /**
   * Besides public events: events of its own principal's sessions, or of all sessions for a principal who may read
   * those.
   */
  readonly of: 'own' | 'everybody'
  /** How long after an event the subscription may begin a run. No later run of the chain begins after that time. */
  readonly ttlMs: number
  /** The most runs in a chain of events, this one included. */
  readonly maxDepth: number
}

/** What a firing does: a task for an agent, or one call of a tool in that agent's reach, without a model. */
export type ScheduledWork =
  | { readonly agent: string; readonly task: string; readonly model?: string }
  | { readonly agent: string; readonly tool: string; readonly input: JsonObject }

/** A tool call before the work, without a model. The work begins only if it answers `shouldRun: true`. */
export interface ScheduledCheck {
  readonly tool: string
  readonly input: JsonObject
  /** In place of `shouldRun`: a field of the answer that must not be empty. */
  readonly has?: string
}

/** Where the result goes. */
export type DeliverTo =
  | { readonly to: 'none' }
  /** Its principal's notices. */
  | { readonly to: 'principal' }
  /** A session of its principal's, as a message. */
  | { readonly to: 'session'; readonly session: string }
  /** POST to a public host. */
  | { readonly to: 'webhook'; readonly url: string }

/** A schedule as its owner writes it. */
export interface ScheduleSpec {
  readonly name: string
  readonly when: When
  readonly work: ScheduledWork
  readonly check?: ScheduledCheck
  /** The rule for slots that were not fired in time: skip them, fire the newest for all of them, or fire each. */
  readonly catchUp: 'skip' | 'once' | 'all'
  /** A slot that is later than this is missed, whatever `catchUp` says. */
  readonly notAfterMs?: number
  /** The rule for a slot that is due while an earlier one works. */
  readonly overlap: 'skip' | 'queue'
  /** A firing is delayed by up to this, always by the same amount. */
  readonly jitterMs: number
  /** The limits of one firing. */
  readonly limits?: Partial<Limits>
  /** The limits of a day (UTC): how many firings begin, and what all of them may spend. */
  readonly daily: {
    readonly runs: number
    readonly tokens?: number
    readonly costNanoUsd?: number
  }
  /** The schedule pauses itself after so many failures in a row. */
  readonly stopAfterFailures: number
  readonly deliver: DeliverTo
  /** Of a subscription: the named session in which all firings work; each in its own if absent. */
  readonly session?: string
  /** All firings work in one session of the schedule's own. A firing without news sends nothing. */
  readonly heartbeat?: true
}

/** The principal and the credential that firings use. The credential is looked up anew before each firing. */
export interface ScheduleAsker {
  readonly principal: string
  readonly key?: string
  readonly grant?: string
}

/** The owner. The schedules of an agent lie with the agent's owner, and work in that principal's name. */
export type ScheduleOwner = ScheduleKeeper | `agent:${string}`

/** A schedule as its owner's object has it. */
export interface Schedule {
  readonly id: string
  readonly owner: ScheduleOwner
  readonly asker: ScheduleAsker
  readonly spec: ScheduleSpec
  readonly createdAtMs: number
  /** The next slot to settle; absent when there is none. Only settling a slot moves it. */
  readonly nextMs?: number
  readonly paused?: { readonly atMs: number; readonly reason: string; readonly by: string }
  /** Failed firings in a row. */
  readonly failures: number
  /** The spending of the current day. */
  readonly day: DaySpent
  /** Counts its changes. */
  readonly version: number
}

/** Whose object keeps a schedule: an agent's are with the principal that owns the agent. */
export const keeperOf = ({ owner, asker }: Pick<Schedule, 'owner' | 'asker'>): ScheduleKeeper =>
  isAgents(owner) ? `principal:${asker.principal}` : owner

const isAgents = (owner: Schedule['owner']): owner is `agent:${string}` =>
  owner.startsWith('agent:')

/** The firings of one day and their spending. */
export interface DaySpent {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly runs: number
  readonly tokens: number
  readonly costNanoUsd: number
}

export const slotStates = [
  'queued',
  'checking',
  'running',
  'done',
  'failed',
  'missed',
  'skipped',
] as const

/** The first three are under way; each slot ends in exactly one of the others. */
export type SlotState = (typeof slotStates)[number]

/** One slot and its state. Each slot of a schedule has one row, so that it works once however often it is fired. */
export interface Slot {
  readonly schedule: string
  readonly slotMs: number
  readonly state: SlotState
  /** Why the slot did not work. */
  readonly reason?: string
  /** A firing on request, beside its slots, with the request's idempotency key if any. */
  readonly asked?: { readonly key?: string }
  /** Of a subscription: the event, with its label as the subscriber sees it. */
  readonly cause?: Emitted & { readonly chain: EventChain }
  /** How many events within the hour had this result for the same reason; `cause` is the first. Absent: one. */
  readonly count?: number
  readonly beganAtMs?: number
  /** The limits at its beginning: a retry must ask for the same. */
  readonly limits?: Partial<Limits>
  readonly endedAtMs?: number
  /** The session of the check, then of the work. */
  readonly session?: string
  readonly run?: string
  /** The principal's language at its beginning. */
  readonly language?: string
  /** The schedule at its beginning, if it was changed since: work under way keeps it. */
  readonly spec?: ScheduleSpec
  /** The check's answer as JSON, for the work to read. */
  readonly checked?: string
  /** The text of the result, cut. */
  readonly text?: string
  readonly label?: Label
  readonly tokens: number
  readonly costNanoUsd: number
  readonly delivery?: SlotDelivery
  /** How often it was tried or checked in its current state. */
  readonly looks: number
}

/** The delivery of a slot's result. */
export interface SlotDelivery {
  readonly to: Exclude<DeliverTo['to'], 'none'>
  readonly state: 'waiting' | 'delivered' | 'failed'
  readonly attempts: number
  readonly error?: string
  readonly atMs?: number
}

/** A schedule with its next slots. Reading them does not move `nextMs`. */
export interface ScheduleView extends Schedule {
  readonly next: readonly number[]
}

/** A message of a schedule to its principal. */
export interface Notice {
  /** The same for a repeated delivery. */
  readonly id: string
  readonly atMs: number
  readonly schedule: string
  readonly name: string
  readonly text: string
  readonly slotMs?: number
  readonly session?: string
}

/** A row of the list of all schedules, as the owner's object sent it last. */
export interface ToldSchedule {
  readonly id: string
  readonly owner: ScheduleOwner
  readonly version: number
  /** Absent: the schedule was removed. */
  readonly schedule?: Schedule
  /** When its owner's object has work for it next; absent if there is none. */
  readonly dueMs?: number
  /** Events for the record, each with the version that it belongs to. */
  readonly events: readonly ScheduleEvent[]
}

/** An event of a schedule on its way to the record. */
export type ScheduleEvent = DeploymentDraft<ScheduleEventType> & {
  readonly version: number
  readonly principal: string
  readonly trace: string
  readonly atMs: number
}

type ScheduleEventType =
  | 'schedule_added'
  | 'schedule_changed'
  | 'schedule_paused'
  | 'schedule_resumed'
  | 'schedule_removed'
  | 'schedule_missed'
  | 'subscription_stopped'

/** The principal that changes a schedule, for the record. */
export interface ScheduleChanger {
  readonly principal: string
  readonly trace: string
}

/** Settings of a principal for all sessions. */
export interface PrincipalSettings {
  /** IANA, such as Europe/Berlin; UTC unless set. */
  readonly timeZone?: string
  /** BCP 47, such as `de` or `pt-BR`; that of the task unless set. */
  readonly language?: string
}
