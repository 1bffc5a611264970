import * as z from 'zod'
import type { EventPlace, EventType, DeploymentEventType } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Administrator } from '#contracts/keys.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'

/**
 * One row of the record: an event and its principal, as the version that wrote it had it. The deployment's own events
 * form a log without a session: `session`, `run` and `agent` are empty, and `seq` counts without gaps.
 */
export interface AuditRecord extends EventPlace {
  readonly type: EventType | DeploymentEventType
  readonly session: string
  readonly principal: string
  readonly data: JsonObject
}

/** A moment: epoch milliseconds or a UTC date. */
export const moment = z
  .string()
  .regex(/^(\d{1,15}|\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?)$/, 'must be epoch milliseconds or a UTC date')
  .transform((text) => (/^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text)))
  .refine((atMs) => Number.isFinite(atMs), 'must be epoch milliseconds or a UTC date')

/** The person to be erased. */
export interface ErasedPerson {
  readonly principal: string
  /** Replaces the name on the record: random, and of no help in finding the person. */
  readonly pseudonym: string
}

/** The result of one step at a place. */
interface ErasedStep {
  /** How many items were deleted or made nameless. */
  readonly erased: number
  /** Where the next step begins, if there is more. */
  readonly next?: number
}

/**
 * A place that may contain a person's data. A step is bounded, and a repeated step finds nothing left of the first
 * one. Throws if the place cannot be reached now: the erasure tries it again.
 */
export interface ErasurePlace {
  readonly name: string
  readonly erase: (person: ErasedPerson, after: number) => Promise<ErasedStep>
}

/** How far an erasure has come: passes over all places, until a whole pass finds nothing. */
export interface ErasureProgress {
  /** Counts from 1. */
  readonly pass: number
  /** Index of the next place in this pass, and where to go on in it. */
  readonly place: number
  readonly after: number
  /** Items found in this pass. */
  readonly found: number
  /** How many passes in a row had a failure. */
  readonly tries: number
  /** Items erased by place, over all passes. */
  readonly erased: Readonly<Record<string, number>>
  /** The last failure of each place, without the person's name. */
  readonly problems: Readonly<Record<string, string>>
}

/** An erasure, under way or done. */
export interface Erasure {
  /** The pseudonym. */
  readonly id: string
  /** The person; after the end the pseudonym. */
  readonly principal: string
  readonly state: 'running' | 'done'
  /** An operator, or `self`. */
  readonly askedBy: string
  readonly askedAtMs: number
  /** When the erasure goes on; absent once it is done. */
  readonly nextMs?: number
  readonly progress: ErasureProgress
}

/** The table of erasures. Every verb may throw `request_unavailable`. */
export interface ErasureStore {
  /**
   * Writes the erasure, and ends every key and sign-in of the person, in one transaction. Returns the running erasure
   * if there is one.
   */
  readonly begin: (erasure: Erasure, by: Administrator) => Promise<Erasure>
  readonly find: (id: string) => Promise<Erasure | undefined>
  /** Newest first. */
  readonly list: (limit: number) => Promise<readonly Erasure[]>
  /** The running erasures, the next due first. */
  readonly running: (limit: number) => Promise<readonly Erasure[]>
  readonly save: (erasure: Erasure) => Promise<void>
  /** Ends the erasure: its own row loses the name, too. */
  readonly finish: (erasure: Erasure, nowMs: number) => Promise<void>
}

/** Which records to read; an absent field does not narrow. */
export interface AuditQuery {
  readonly trace?: string
  /** Empty: the deployment's own events. Otherwise the session's events, and an operator's actions on it. */
  readonly session?: string
  readonly principal?: string
  readonly agent?: string
  /** One type, or a prefix that ends with `*`. */
  readonly type?: string
  readonly plugin?: string
  /** Only failed requests to models that may have been billed and that no operator has settled. */
  readonly isUnconfirmed?: true
  /** From this moment on, epoch milliseconds. */
  readonly sinceMs?: number
  /** Before this moment, epoch milliseconds. */
  readonly untilMs?: number
  /** `desc`: newest first; otherwise in the order of arrival. */
  readonly order?: 'asc' | 'desc'
  /** At most this many records, 1 to 500. */
  readonly limit: number
  /** The `next` of the previous page. */
  readonly after?: AuditCursor
}

/** A place in the record; with `atMs` for the order `desc`. */
export interface AuditCursor {
  readonly id: number
  readonly atMs?: number
}

/** A page of the record. `next` is present if more may follow. */
export interface AuditPage {
  readonly records: readonly AuditRecord[]
  readonly next?: AuditCursor
  /** In the order `asc`, later records come after this place. */
  readonly last: number
}

/** Reads the record. Throws `request_unavailable` while D1 is away. */
export interface AuditReader {
  readonly query: (query: AuditQuery) => Promise<AuditPage>
}

/** The groupings of a usage report; `spending` groups by principal, agent and model together. */
export const usageKeys = [
  'principal',
  'agent',
  'model',
  'plugin',
  'session',
  'day',
  'spending',
] as const

/** What usage is grouped by. */
export type UsageKey = (typeof usageKeys)[number]

/** The time and grouping of a usage report. */
export interface UsageQuery {
  readonly by: UsageKey
  /** From this moment on, epoch milliseconds. */
  readonly sinceMs: number
  /** Before this moment, epoch milliseconds. */
  readonly untilMs: number
  /** Restricts the report to this principal. */
  readonly principal?: string
  readonly limit: number
}

/** The platform's work, and its price in billionths of a US dollar. */
export interface PlatformSum {
  readonly platform: PlatformAmounts
  readonly platformNanoUsd: number
}

/**
 * Spending by the record: each call counts once, where it was made. Sums by model and plugin have no platform work,
 * since that belongs to the run.
 */
export interface UsageSum extends PlatformSum {
  /** Runs with any of this spending, those of sub-agents too. */
  readonly runs: number
  /** Requests to models that were answered, or failed and may have been billed. */
  readonly modelCalls: number
  /** Calls that ended, with any outcome. */
  readonly toolCalls: number
  /** Tokens of answered requests, and the amounts booked for failed ones. */
  readonly tokens: number
  /** Tokens of answered requests. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** Booked cost of model requests and isolates. */
  readonly costNanoUsd: number
}

/** One sum of usage. */
export interface UsageRow extends UsageSum {
  /**
   * For `spending` the model. `null` for spending without such a name: a tool call without a model, a model call
   * without a plugin.
   */
  readonly name: string | null
  /** For `session` and `spending`: the principal and agent of the session. */
  readonly principal?: string
  readonly agent?: string
}

/** Highest cost first; `total` covers all rows, shown or not. May throw `request_unavailable`. */
export interface UsageReport {
  readonly sum: (query: UsageQuery) => Promise<{
    readonly rows: readonly UsageRow[]
    readonly total: UsageSum
    /** The platform's work that belongs to no run; absent for a report on one principal. */
    readonly deployment?: PlatformSum
  }>
}

/** The figures of a model by the record. `model` is the name that answered or, for a failure, the requested one. */
export interface ModelRecord {
  readonly provider: string
  readonly model: string
  /**
   * Answered requests, and failed requests by code: each retry counts. A request that a crash of this deployment cut
   * is no failure here, but its booked cost counts.
   */
  readonly calls: number
  readonly failures: Readonly<Record<string, number>>
  /** Latency of the answered requests; absent without any. */
  readonly latencyMs?: { readonly mean: number; readonly max: number }
  readonly costNanoUsd: number
}

/** Reads only the newest part of the record, so that its cost is bounded. May throw `request_unavailable`. */
export interface ModelReport {
  readonly since: (atMs: number) => Promise<readonly ModelRecord[]>
}

/** The figures of an agent. Tokens and cost are its own; its sub-agents have theirs. */
export interface AgentMetrics {
  readonly agent: string
  /** Runs that ended. */
  readonly runs: number
  readonly states: Readonly<Record<string, number>>
  /** Share of these runs that completed, 0 to 1; absent if none ended. */
  readonly successRate?: number
  readonly turnsPerRun?: number
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costNanoUsd: number
}

/**
 * The figures of a tool. A failure is each result that the model saw as one: refused, denied and timed-out calls too.
 */
export interface ToolMetrics {
  readonly tool: string
  readonly calls: number
  /** By code. */
  readonly failures: Readonly<Record<string, number>>
  readonly errorRate: number
  readonly latencyMs: { readonly mean: number; readonly max: number }
}

/** The figures of the deployment in a time, by agent, tool and model. */
export interface Metrics {
  readonly agents: readonly AgentMetrics[]
  readonly tools: readonly ToolMetrics[]
  readonly models: readonly ModelRecord[]
}

/** Like `ModelReport`, for agents, tools and models (C7). May throw `request_unavailable`. */
export interface MetricsReport {
  readonly since: (atMs: number) => Promise<Metrics>
}
