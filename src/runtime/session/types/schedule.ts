import type { JsonObject } from '#contracts/json.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ScheduleKeeper } from '#contracts/schedule.ts'
import type { Emitted } from './event-bus.ts'
import type { EventChain } from '#contracts/event-bus.ts'
import type { Label } from '#contracts/label.ts'
import type { DeploymentDraft } from '#runtime/catalog/types/event.ts'

/** When a schedule is due. A slot is one moment of it, in epoch milliseconds: what follows is found from the slot. */
export type When =
  | { readonly cron: string; readonly timeZone: string }
  /** Every so long from `anchorMs` on, whatever clocks on walls do. */
  | { readonly everyMs: number; readonly anchorMs: number }
  /** These moments, in order. */
  | { readonly atMs: readonly number[] }
  | Wanted

/** A subscription is a schedule that events fire instead of the clock: it has no slots but theirs. */
export interface Wanted {
  /** A whole name, or `<plugin>.*`. */
  readonly event: string
  /** Fields of the payload that must be equal to these. */
  readonly where?: Readonly<Record<string, string | number | boolean>>
  /** Beside what is public: events of its own principal's sessions, or of everybody's, for whoever may see those. */
  readonly of: 'own' | 'everybody'
  /** So long after an event it may still begin a run, and all that follows from it. */
  readonly ttlMs: number
  /** So many runs one after the other may events begin, this one included. */
  readonly maxDepth: number
}

/** What a firing does: a task for an agent, or one call of a tool in that agent's reach, without a model. */
export type ScheduledWork =
  | { readonly agent: string; readonly task: string; readonly model?: string }
  | { readonly agent: string; readonly tool: string; readonly input: JsonObject }

/** A tool that is called first, without a model: only where it answers `shouldRun: true` the work begins. */
export interface ScheduledCheck {
  readonly tool: string
  readonly input: JsonObject
  /** Instead of `shouldRun`: a field of the answer that has to hold something. */
  readonly has?: string
}

/** Where what came of it goes. */
export type DeliverTo =
  | { readonly to: 'none' }
  /** Its principal's notices. */
  | { readonly to: 'principal' }
  /** A session of its principal's, as a message. */
  | { readonly to: 'session'; readonly session: string }
  /** POST to a public host. */
  | { readonly to: 'webhook'; readonly url: string }

/** What somebody wants done, and when. */
export interface ScheduleSpec {
  readonly name: string
  readonly when: When
  readonly work: ScheduledWork
  readonly check?: ScheduledCheck
  /** What is done about slots that nobody fired in time: none, the newest for all of them, or each. */
  readonly catchUp: 'skip' | 'once' | 'all'
  /** A slot that is later than this is missed, whatever `catchUp` says. */
  readonly notAfterMs?: number
  /** A slot that is due while an earlier one works. */
  readonly overlap: 'skip' | 'queue'
  /** A firing comes up to so much later than its slot, always by the same amount. */
  readonly jitterMs: number
  /** Of one firing. */
  readonly limits?: Partial<Limits>
  /** Of a day (UTC): how many firings begin, and what all of them may spend. */
  readonly daily: {
    readonly runs: number
    readonly tokens?: number
    readonly costNanoUsd?: number
  }
  /** It pauses itself after so many failures in a row. */
  readonly stopAfterFailures: number
  readonly deliver: DeliverTo
  /** Of a subscription: the named session in which all firings work; each in its own if absent. */
  readonly session?: string
  /** All firings work in one session of the schedule's own, and what has nothing to tell is silent. */
  readonly heartbeat?: true
}

/** In whose name it works: the key or sign-in it was made with, looked up anew before each firing. */
export interface ScheduleAsker {
  readonly principal: string
  readonly key?: string
  readonly grant?: string
}

/** Whose it is. An agent's is kept by the principal that owns the agent, and works in that principal's name. */
export type ScheduleOwner = ScheduleKeeper | `agent:${string}`

/** A schedule as its owner's object has it. */
export interface Schedule {
  readonly id: string
  readonly owner: ScheduleOwner
  readonly asker: ScheduleAsker
  readonly spec: ScheduleSpec
  readonly createdAtMs: number
  /** The slot that is next to be settled; absent when there is none. Moves when a slot is settled, and never else. */
  readonly nextMs?: number
  readonly paused?: { readonly atMs: number; readonly reason: string; readonly by: string }
  /** In a row. */
  readonly failures: number
  /** What this day has had. */
  readonly day: DaySpent
  /** Counts its changes. */
  readonly version: number
}

/** What a schedule's firings of one day came to. */
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

/** The first three are under way; each slot comes to exactly one of the others. */
export type SlotState = (typeof slotStates)[number]

/** What became of one slot. There is one row for each slot of a schedule: whoever fires it, it works once. */
export interface Slot {
  readonly schedule: string
  readonly slotMs: number
  readonly state: SlotState
  /** Of what did not work: why. */
  readonly reason?: string
  /** Somebody asked for it now, beside its slots, by this key if any. */
  readonly asked?: { readonly key?: string }
  /** Of a subscription: the event, with its label as it is for whoever hears it. */
  readonly cause?: Emitted & { readonly chain: EventChain }
  /** How many events came to this for the same reason within the hour, the first being its `cause`; one if absent. */
  readonly count?: number
  readonly beganAtMs?: number
  /** What it may spend, as it was when it began: asked again it must ask for the same. */
  readonly limits?: Partial<Limits>
  readonly endedAtMs?: number
  /** Of the check first, then of the work. */
  readonly session?: string
  readonly run?: string
  /** Of its principal, as it was when it began. */
  readonly language?: string
  /** As its schedule was when it began, where that was changed since: what is under way goes on as it is. */
  readonly spec?: ScheduleSpec
  /** What its check answered, as JSON: the work reads it. */
  readonly checked?: string
  /** What it says, cut. */
  readonly text?: string
  readonly label?: Label
  readonly tokens: number
  readonly costNanoUsd: number
  readonly delivery?: SlotDelivery
  /** How often it was tried or looked at in the state that it is in. */
  readonly looks: number
}

/** The way of what came of a slot to whoever is told. */
export interface SlotDelivery {
  readonly to: Exclude<DeliverTo['to'], 'none'>
  readonly state: 'waiting' | 'delivered' | 'failed'
  readonly attempts: number
  readonly error?: string
  readonly atMs?: number
}

/** A schedule with its next slots, which asking for them does not move. */
export interface ScheduleView extends Schedule {
  readonly next: readonly number[]
}

/** Something a schedule has to tell its principal. */
export interface Notice {
  /** The same for what is delivered again. */
  readonly id: string
  readonly atMs: number
  readonly schedule: string
  readonly name: string
  readonly text: string
  readonly slotMs?: number
  readonly session?: string
}

/** A row of the list of all schedules, as its owner's object told it last. */
export interface ToldSchedule {
  readonly id: string
  readonly owner: ScheduleOwner
  readonly version: number
  /** Absent: it is gone. */
  readonly schedule?: Schedule
  /** When its owner will have something to do with it next; absent where there is nothing. */
  readonly dueMs?: number
  /** What is to be on the record, each of the version that it came with. */
  readonly events: readonly ToldEvent[]
}

/** An event of a schedule on its way to the record. */
export type ToldEvent = DeploymentDraft<ScheduleEventType> & {
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

/** Who changes a schedule, for the record. */
export interface ScheduleChanger {
  readonly principal: string
  readonly trace: string
}

/** What holds for a person, wherever they are. */
export interface PrincipalSettings {
  /** IANA, such as Europe/Berlin; UTC unless set. */
  readonly timeZone?: string
  /** BCP 47, such as `de` or `pt-BR`; that of the task unless set. */
  readonly language?: string
}
