import type { Limits, Usage } from '#contracts/lease.ts'
import type { SharedFrom } from '#contracts/shared-parts.ts'
import type { ToolResult } from '#contracts/tool.ts'

/** Where a sub-agent's session hangs in its tree. */
export interface Lineage {
  readonly rootSession: string
  readonly parentSession: string
  readonly parentRun: string
  readonly parentCall: string
  readonly depth: number
  /** What its session has of those above it. */
  readonly shared: SharedFrom
  /** Agents above this one, root first. */
  readonly ancestry: readonly string[]
  /** This run's lease, out of the parent's. */
  readonly lease: Limits
  /** The parent does not wait: the outcome is delivered to it. */
  readonly isBackground?: boolean
  /** The outcome is to begin a run of the parent's session; otherwise it is noted for the next one. */
  readonly onOutcome?: 'run'
}

/** The outcome that began a run, in place of somebody who asked for it. */
export interface BegunBy {
  /** Of the parent's session: what started the work in the background. */
  readonly run: string
  readonly call: string
  /** Where the work was done. */
  readonly session: string
  /** How many outcomes led to it, one by the run of another; this one included. */
  readonly depth: number
}

/** What became of a session that a call started: sent until it is acknowledged. */
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
  /** `parked` if it waits and nothing that waits with it may spend: it needs no reservation until it goes on. */
  readonly state: 'unknown' | 'open' | 'parked' | 'over'
  readonly usage: Usage
  /** Of a run that is `parked` or `over`: which step of it this is, for the day's ledger. */
  readonly step?: number
}
