import type { AuditRecord } from './event.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'

/** Which records are asked for; what is left out does not narrow. */
export interface AuditQuery {
  readonly trace?: string
  /** Empty: the deployment's own events. Otherwise those of the session, and what an operator did with it. */
  readonly session?: string
  readonly principal?: string
  readonly agent?: string
  /** One type, or with a `*` at its end all that begin so. */
  readonly type?: string
  readonly plugin?: string
  /** Only failed requests to models that may have been billed and that no operator has settled. */
  readonly isUnconfirmed?: true
  /** From this moment on. */
  readonly sinceMs?: number
  /** Before this one. */
  readonly untilMs?: number
  /** `desc`: the newest first; otherwise in the order they arrived. */
  readonly order?: 'asc' | 'desc'
  /** At most this many records, 1 to 500. */
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: AuditCursor
}

/** A place in the record; `atMs` where the newest come first. */
export interface AuditCursor {
  readonly id: number
  readonly atMs?: number
}

/** `next` is present if there may be more. */
export interface AuditPage {
  readonly records: readonly AuditRecord[]
  readonly next?: AuditCursor
  /** What arrives later comes after it in the order `asc`. */
  readonly last: number
}

/** Reads the record. Throws `request_unavailable` while D1 is away. */
export interface AuditReader {
  readonly query: (query: AuditQuery) => Promise<AuditPage>
}

/** What spending is told by; `spending` is by principal, agent and model together. */
export const usageKeys = [
  'principal',
  'agent',
  'model',
  'plugin',
  'session',
  'day',
  'spending',
] as const

/** What usage is summed up by. */
export type UsageKey = (typeof usageKeys)[number]

/** Over what time usage is summed up, and by what. */
export interface UsageQuery {
  readonly by: UsageKey
  /** From this moment on. */
  readonly sinceMs: number
  /** Before this one. */
  readonly untilMs: number
  /** Of this one only. */
  readonly principal?: string
  readonly limit: number
}

/** What the platform was made to do, and its price in billionths of a US dollar. */
export interface PlatformSum {
  readonly platform: PlatformAmounts
  readonly platformNanoUsd: number
}

/**
 * What was spent, as the record has it: each call once, where it was made. By model and plugin nothing of the platform,
 * since what it was made to do is the run's.
 */
export interface UsageSum extends PlatformSum {
  /** In which something of it happened, those of sub-agents too. */
  readonly runs: number
  /** Requests to models that were answered, or failed and may have been billed. */
  readonly modelCalls: number
  /** Calls that ended, whatever came of them. */
  readonly toolCalls: number
  /** Of answered requests, and what was booked for those that failed. */
  readonly tokens: number
  /** Of answered requests. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** Requests to models and isolates, as they were booked. */
  readonly costNanoUsd: number
}

/** One sum of usage. */
export interface UsageRow extends UsageSum {
  /** Of `spending` the model. `null` for what is of none: a tool call of no model, a model call of no plugin. */
  readonly name: string | null
  /** Of `session` and `spending`: whose session it is, and whose agent it talks to. */
  readonly principal?: string
  readonly agent?: string
}

/** Dearest first; `total` is of everything, shown or not. May throw `request_unavailable`. */
export interface UsageReport {
  readonly sum: (query: UsageQuery) => Promise<{
    readonly rows: readonly UsageRow[]
    readonly total: UsageSum
    /** What no run made the platform do; absent where one principal is asked for. */
    readonly deployment?: PlatformSum
  }>
}

/** How a model did, as the record has it. `model` is the name that answered or, of a failure, that was asked. */
export interface ModelRecord {
  readonly provider: string
  readonly model: string
  /**
   * Requests that were answered, and those that failed, by code: a retried one counts each time. What a crash of ours
   * cut is no failure here; it costs what was booked for it.
   */
  readonly calls: number
  readonly failures: Readonly<Record<string, number>>
  /** Of the answered ones; absent if there were none. */
  readonly latencyMs?: { readonly mean: number; readonly max: number }
  readonly costNanoUsd: number
}

/** Reads the newest part of the record only: what it costs has a bound. May throw `request_unavailable`. */
export interface ModelReport {
  readonly since: (atMs: number) => Promise<readonly ModelRecord[]>
}

/** How an agent did. Tokens and cost are its own: what its sub-agents spent is theirs. */
export interface AgentMetrics {
  readonly agent: string
  /** Runs that ended. */
  readonly runs: number
  readonly states: Readonly<Record<string, number>>
  /** The part of them that completed, 0 to 1; absent if none ended. */
  readonly successRate?: number
  readonly turnsPerRun?: number
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costNanoUsd: number
}

/** How a tool did. A failure is whatever the model was told of as one: refused, denied and timed out ones too. */
export interface ToolMetrics {
  readonly tool: string
  readonly calls: number
  /** By code. */
  readonly failures: Readonly<Record<string, number>>
  readonly errorRate: number
  readonly latencyMs: { readonly mean: number; readonly max: number }
}

/** What the deployment did in a time, by agent, tool and model. */
export interface Metrics {
  readonly agents: readonly AgentMetrics[]
  readonly tools: readonly ToolMetrics[]
  readonly models: readonly ModelRecord[]
}

/** Like `ModelReport`, of everything (C7). May throw `request_unavailable`. */
export interface MetricsReport {
  readonly since: (atMs: number) => Promise<Metrics>
}
