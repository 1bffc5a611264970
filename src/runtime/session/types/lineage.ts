import type { Limits, Usage } from '#contracts/lease.ts'
import type { SharedFrom } from '#contracts/manifest/agent-manifest.ts'
import type { ToolResult } from '#contracts/tool.ts'

/** The place of a sub-agent's session in its tree. */
export interface Lineage {
  readonly rootSession: string
  readonly parentSession: string
  readonly parentRun: string
  readonly parentCall: string
  readonly depth: number
  /** The parts that its session shares with the sessions above it. */
  readonly shared: SharedFrom
  /** Agents above this one, root first. */
  readonly ancestry: readonly string[]
  /** This run's lease, out of the parent's. */
  readonly lease: Limits
  /** The parent does not wait: the outcome is delivered to it. */
  readonly isBackground?: boolean
  /** The outcome begins a run of the parent's session; otherwise the parent's next run reads it. */
  readonly onOutcome?: 'run'
}

/** The background outcome that began a run in place of a request. */
export interface BegunBy {
  /** The run of the parent's session that started the background work. */
  readonly run: string
  readonly call: string
  /** The session that did the work. */
  readonly session: string
  /** The length of the chain of outcomes, each beginning a run; this one included. */
  readonly depth: number
}

/** The outcome of a session that a call started: sent until it is acknowledged. */
export interface Delivery {
  readonly parentRun: string
  readonly call: string
  readonly agent: string
  readonly session: string
  readonly isBackground: boolean
  readonly onOutcome?: 'run'
  readonly result: ToolResult
}

export interface RunSpending {
  /** `parked` if the run waits and none of its waiting calls may spend: it needs no reservation until it goes on. */
  readonly state: 'unknown' | 'open' | 'parked' | 'over'
  readonly usage: Usage
  /** Of a run that is `parked` or `over`: its step, for the day's ledger. */
  readonly step?: number
}
