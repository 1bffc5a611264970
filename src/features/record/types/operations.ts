import type { AuditRecord } from './event.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'

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
