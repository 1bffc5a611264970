import type { ForgottenText } from './session-api.ts'
import type { ScheduledAgent } from './agent-schedules.ts'
import type { Emitted, SubscriptionOwner } from './audit-sink.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type {
  Notice,
  PrincipalSettings,
  Schedule,
  ScheduleChanger,
  ScheduleSpec,
  ScheduleView,
  Slot,
  SlotState,
  ToldSchedule,
} from './schedule.ts'
import type { ScheduleKeeper } from '#contracts/schedule-requests.ts'
import type { PlannedJobs } from '#platform/objects/planned-job.ts'

export type ForgottenSlot = Pick<Slot, 'schedule' | 'slotMs'>

/** A firing that an event of a principal began, and the session that got it. */
export interface HeardOfPerson {
  readonly slot: ForgottenSlot
  /** The owner of the subscription. */
  readonly asker: string
  /** The session that it began. A shared session keeps the texts of other firings. */
  readonly session?: string
  readonly isShared?: boolean
  readonly deliveredTo?: string
  /** The texts of the event and of the run. */
  readonly texts: readonly ForgottenText[]
}

/** The schedule that a verb is about. */
export interface OfOne {
  readonly id: string
  /** Only a schedule of this principal; absent for a caller that may read all. */
  readonly principal?: string
}

/**
 * The verbs of an owner's object, each with its request and its answer. Throws `request_not_found` for a missing
 * schedule.
 */
export interface ScheduleVerbs {
  readonly add: {
    readonly ask: {
      readonly schedule: Pick<Schedule, 'id' | 'owner' | 'asker' | 'spec'>
      readonly by: ScheduleChanger
      readonly isDryRun?: boolean
    }
    readonly answer: ScheduleView
  }
  readonly list: {
    /** Schedules by the clock only. */
    readonly ask: { readonly limit: number }
    readonly answer: readonly ScheduleView[]
  }
  readonly show: { readonly ask: OfOne; readonly answer: ScheduleView }
  readonly history: {
    readonly ask: OfOne & {
      readonly limit: number
      readonly beforeMs?: number
      readonly state?: SlotState
    }
    readonly answer: readonly Slot[]
  }
  /**
   * Changes a schedule. Slots that are due by now get their rows first. Throws `request_conflict` if the schedule is no
   * longer `was`, or too many slots wait.
   */
  readonly edit: {
    readonly ask: OfOne & {
      readonly spec: ScheduleSpec
      readonly was: ScheduleSpec
      /** The key or sign-in of the principal that makes the change: firings use it from then on. */
      readonly asker: Schedule['asker']
      readonly by: ScheduleChanger
      readonly isDryRun?: boolean
    }
    readonly answer: ScheduleView
  }
  /** Pauses, resumes or removes the schedules of an agent, except `but`, after a change of the agent. */
  readonly ofAgent: {
    readonly ask: {
      readonly agent: string
      readonly does: 'pause' | 'resume' | 'remove'
      readonly but?: readonly string[]
      readonly by: ScheduleChanger
    }
    readonly answer: { readonly changed: number }
  }
  readonly pause: {
    readonly ask: OfOne & { readonly reason: string; readonly by: ScheduleChanger }
    readonly answer: ScheduleView
  }
  readonly resume: {
    readonly ask: OfOne & { readonly by: ScheduleChanger }
    readonly answer: ScheduleView
  }
  /** Fires now, beside its slots. The same key joins the existing firing. */
  readonly run: {
    readonly ask: OfOne & { readonly key?: string; readonly by: ScheduleChanger }
    readonly answer: Slot
  }
  readonly remove: {
    readonly ask: OfOne & { readonly by: ScheduleChanger }
    readonly answer: { readonly id: string; readonly deleted: true }
  }
  /** The watcher found these schedules late. The object rechecks them, and reports the missing ones as removed. */
  readonly poke: {
    readonly ask: { readonly schedules: readonly Schedule[] }
    readonly answer: { readonly looked: true }
  }
  /** Delivers an event: each subscription that wants it and may see it gets it once. */
  readonly hear: {
    readonly ask: { readonly event: Emitted }
    readonly answer: { readonly heard: number }
  }
  /** The firings that a principal's events began here, at most `limit`. */
  readonly heardOf: {
    readonly ask: { readonly principal: string; readonly limit: number }
    readonly answer: readonly HeardOfPerson[]
  }
  /** Deletes firings and their notices. */
  readonly forgetHeard: {
    readonly ask: { readonly slots: readonly ForgottenSlot[] }
    readonly answer: { readonly forgotten: number }
  }
  readonly notices: {
    readonly ask: { readonly limit: number }
    readonly answer: readonly Notice[]
  }
  readonly notify: {
    readonly ask: { readonly notice: Notice }
    readonly answer: { readonly id: string }
  }
  readonly dismiss: {
    readonly ask: { readonly id: string }
    readonly answer: { readonly id: string; readonly deleted: true }
  }
  /** Reads the settings, or sets the given ones. */
  readonly settings: {
    readonly ask: { readonly set?: PrincipalSettings }
    readonly answer: PrincipalSettings & { readonly timeZone: string }
  }
}

export type ScheduleVerb = keyof ScheduleVerbs
/** One request to an owner's object. */
export type ScheduleRequest = {
  readonly [Verb in ScheduleVerb]: { readonly verb: Verb; readonly ask: ScheduleVerbs[Verb]['ask'] }
}[ScheduleVerb]
/** The answer of the verb. */
export type ScheduleAnswer = ScheduleVerbs[ScheduleVerb]['answer']

/** The RPC method of an object that owns schedules. */
export interface ScheduleApi {
  readonly schedules: (request: ScheduleRequest) => Promise<ObjectReply<ScheduleAnswer>>
}

/** The name of the job by which an object's schedules wake it. */
export const scheduleJob = 'schedules'

/** The schedules of one object, for the class that it is in. */
interface ScheduleHost {
  /** After a restart. Makes no table where there is no schedule. */
  readonly restore: () => void
  /** The job rang. Never throws. @returns When it is to ring again. */
  readonly run: () => Promise<{ readonly rescheduleAt: number } | undefined>
  readonly answer: (request: ScheduleRequest) => Promise<ObjectReply<ScheduleAnswer>>
}

/** Makes it out of an object's storage and what wakes it. */
export type CreateScheduleHost<Storage> = (
  storage: Storage,
  lifecycle: {
    readonly jobs: PlannedJobs
    readonly start: () => Promise<void>
    readonly rearmAlarm: () => Promise<void>
  },
) => ScheduleHost

/** Asks the objects that keep schedules. Throws their failures. */
export interface ScheduleGateway {
  readonly ask: <Verb extends ScheduleVerb>(
    keeper: ScheduleKeeper,
    verb: Verb,
    ask: ScheduleVerbs[Verb]['ask'],
  ) => Promise<ScheduleVerbs[Verb]['answer']>
}

/** In the list: the subscription wants events of all principals. */
export const ofEverybody = '*'

/** A subscription as the list has it: its event, and the principal whose events it wants, or `ofEverybody`. */
export interface ListedSubscription {
  readonly owner: SubscriptionOwner
  readonly event: string
  readonly hears: string
}

/** A schedule in the manifest of an enabled plugin. */
export interface ManifestSchedule {
  readonly plugin: string
  readonly name: string
  readonly cron: string
}

/** The list of all schedules in D1, which may be a moment old. Every verb may throw `request_unavailable`. */
export interface ScheduleIndex {
  /** Mirrors schedules. Each version is written once; an older version changes nothing. */
  readonly tell: (told: readonly ToldSchedule[]) => Promise<void>
  /** The schedules whose owner's object is overdue, the latest due first. */
  readonly late: (beforeMs: number, limit: number) => Promise<readonly Schedule[]>
  readonly find: (id: string) => Promise<Schedule | undefined>
  /** Subscriptions that may want one of these events, by the columns of the list. */
  readonly wanting: (
    events: readonly Emitted[],
    counted?: PlatformCount['count'],
  ) => Promise<readonly ListedSubscription[]>
  /** Subscriptions in the object of a plugin, or in the objects of all plugins. */
  readonly subscriptionsOf: (plugin?: string) => Promise<readonly Schedule[]>
  /** All of them in one read, however many plugins are enabled. */
  readonly ofManifests: () => Promise<readonly ManifestSchedule[]>
  /** Manifests of enabled plugins whose agent subscribes to something, in one read. */
  readonly subscribingManifests: () => Promise<
    readonly { readonly plugin: string; readonly manifest: unknown }[]
  >
  /** Agents without a plugin whose schedules were not brought in line with their last change. */
  readonly agentsBehind: (limit: number) => Promise<readonly ScheduledAgent[]>
  /** Marks the agent's schedules as in line, up to that change. */
  readonly agentSettled: (agent: Pick<ScheduledAgent, 'id' | 'behind'>) => Promise<void>
  readonly list: (query: {
    readonly principal?: string
    readonly limit: number
    readonly after?: string
    /** True: subscriptions; absent: schedules by the clock. */
    readonly subscriptions?: true
  }) => Promise<readonly Schedule[]>
}
