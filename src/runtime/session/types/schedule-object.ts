import type { ForgottenText } from './forgotten-text.ts'
import type { ScheduledAgent } from './agent-schedules.ts'
import type { Emitted, SubscriptionOwner } from './event-bus.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { Reply } from '#contracts/reply.ts'
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
import type { ScheduleKeeper } from '#contracts/schedule.ts'

export type ForgottenSlot = Pick<Slot, 'schedule' | 'slotMs'>

/** A firing that an event of a person began, and where that went. */
export interface HeardOfPerson {
  readonly slot: ForgottenSlot
  /** Whose subscription it is. */
  readonly asker: string
  /** The session that it began; one that others use too keeps what is not of this. */
  readonly session?: string
  readonly isShared?: boolean
  readonly deliveredTo?: string
  /** What was heard and said. */
  readonly texts: readonly ForgottenText[]
}

interface OfOne {
  readonly id: string
  /** Only if it is this principal's; absent for those who see everybody's. */
  readonly principal?: string
}

/** What an owner's object is asked, by verb, and what it answers. Throws `request_not_found` for what is not there. */
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
    /** Of those by the clock. */
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
  /** What is due by then has its row first. Throws `request_conflict` where it is not `was` any more, or where too much waits. */
  readonly edit: {
    readonly ask: OfOne & {
      readonly spec: ScheduleSpec
      readonly was: ScheduleSpec
      /** Whoever changes it: it works by that key or sign-in from then on. */
      readonly asker: Schedule['asker']
      readonly by: ScheduleChanger
      readonly isDryRun?: boolean
    }
    readonly answer: ScheduleView
  }
  /** All of an agent's but those, when the agent is archived, comes back, is deleted or says otherwise. */
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
  /** A firing now, beside its slots. The same key meets the firing that is there. */
  readonly run: {
    readonly ask: OfOne & { readonly key?: string; readonly by: ScheduleChanger }
    readonly answer: Slot
  }
  readonly remove: {
    readonly ask: OfOne & { readonly by: ScheduleChanger }
    readonly answer: { readonly id: string; readonly deleted: true }
  }
  /** Whoever watches saw that these are late: they are looked at now, and what is not here is said to be gone. */
  readonly poke: {
    readonly ask: { readonly schedules: readonly Schedule[] }
    readonly answer: { readonly looked: true }
  }
  /** What was emitted somewhere: each subscription that wants it, and may see it, has it once. */
  readonly hear: {
    readonly ask: { readonly event: Emitted }
    readonly answer: { readonly heard: number }
  }
  /** What came of a person's events here, at most so many firings. */
  readonly heardOf: {
    readonly ask: { readonly principal: string; readonly limit: number }
    readonly answer: readonly HeardOfPerson[]
  }
  /** Takes firings away, with the notices of them. */
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
  /** Sets them where any is named. */
  readonly settings: {
    readonly ask: { readonly set?: PrincipalSettings }
    readonly answer: PrincipalSettings & { readonly timeZone: string }
  }
}

export type ScheduleVerb = keyof ScheduleVerbs
/** One question to an owner's object. */
export type ScheduleRequest = {
  readonly [Verb in ScheduleVerb]: { readonly verb: Verb; readonly ask: ScheduleVerbs[Verb]['ask'] }
}[ScheduleVerb]
/** What the verb says that it is. */
export type ScheduleAnswer = ScheduleVerbs[ScheduleVerb]['answer']

/** What an object that keeps schedules answers over RPC. */
export interface ScheduleApi {
  readonly schedules: (request: ScheduleRequest) => Promise<Reply<ScheduleAnswer>>
}

/** What is needed of an object's jobs. */
export interface ScheduleJobs {
  readonly get: (id: string) => { readonly time: number } | undefined
  readonly push: (job: {
    readonly id: string
    readonly fn: string
    readonly time: number
  }) => Promise<unknown>
}

/** The name of the job by which an object's schedules wake it. */
export const scheduleJob = 'schedules'

/** The schedules of one object, for the class that it is in. */
export interface ScheduleHost {
  /** After a restart. Makes no table where there is no schedule. */
  readonly restore: () => void
  /** The job rang. Never throws. @returns When it is to ring again. */
  readonly run: () => Promise<{ readonly rescheduleAt: number } | undefined>
  readonly answer: (request: ScheduleRequest) => Promise<Reply<ScheduleAnswer>>
}

/** Makes it out of an object's storage and what wakes it. */
export type CreateScheduleHost<Storage> = (
  storage: Storage,
  lifecycle: {
    readonly jobs: ScheduleJobs
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

/** Stands in the list for whose events somebody hears. */
export const ofEverybody = '*'

/** A subscription as the list has it: what it wants, and whose events: a principal's, or `ofEverybody`. */
export interface ListedSubscription {
  readonly owner: SubscriptionOwner
  readonly event: string
  readonly hears: string
}

/** What the manifest of an enabled plugin schedules. */
export interface ManifestSchedule {
  readonly plugin: string
  readonly name: string
  readonly cron: string
}

/** The list of all schedules, a moment old. Every verb may throw `request_unavailable`. */
export interface ScheduleIndex {
  /** Each once: what is older than what is there changes nothing. */
  readonly tell: (told: readonly ToldSchedule[]) => Promise<void>
  /** The schedules whose owners should have done something before then, the latest first to be due. */
  readonly late: (beforeMs: number, limit: number) => Promise<readonly Schedule[]>
  readonly find: (id: string) => Promise<Schedule | undefined>
  /** Subscriptions that may want one of these, by what the list knows of them. */
  readonly wanting: (
    events: readonly Emitted[],
    counted?: PlatformCount['count'],
  ) => Promise<readonly ListedSubscription[]>
  /** Subscriptions that the object of a plugin keeps, or those of all plugins. */
  readonly subscriptionsOf: (plugin?: string) => Promise<readonly Schedule[]>
  /** In one read, however many plugins are enabled. */
  readonly ofManifests: () => Promise<readonly ManifestSchedule[]>
  /** Manifests of enabled plugins whose agent subscribes to something, in one read. */
  readonly subscribingManifests: () => Promise<
    readonly { readonly plugin: string; readonly manifest: unknown }[]
  >
  /** Agents without a plugin whose schedules were not brought in line with their last change. */
  readonly agentsBehind: (limit: number) => Promise<readonly ScheduledAgent[]>
  /** They are, up to that change. */
  readonly agentSettled: (agent: Pick<ScheduledAgent, 'id' | 'behind'>) => Promise<void>
  readonly list: (query: {
    readonly principal?: string
    readonly limit: number
    readonly after?: string
    /** Subscriptions; those by the clock if absent. */
    readonly subscriptions?: true
  }) => Promise<readonly Schedule[]>
}
