import type { AgentResult, RunState } from '#contracts/agent.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { BegunBy } from './lineage.ts'
import type { Pause } from '#runtime/kernel/types/pause.ts'

/** The outcome that a waiting caller gets: the run's result, or that it is parked. */
export type RunOutcome = AgentResult | ParkedView

export interface ParkedView {
  readonly id: string
  readonly sessionId: string
  readonly agent: string
  readonly trace: string
  readonly state: 'parked'
  readonly pauses: readonly PauseView[]
}

/** A waiting call as clients see it. */
export interface PauseView extends Omit<Pause, 'changes' | 'limits'> {
  /** The hash of the call's current questions, if it has `asks`: an answer names the hash that it answers. */
  readonly asksHash?: string
  /** Of a call that needs an approval: the spending of its run so far. */
  readonly spent?: { readonly tokens: number; readonly costNanoUsd: number }
  /** Epoch milliseconds; absent if it does not expire. */
  readonly expiresAtMs?: number
}

export interface RunView {
  readonly id: string
  readonly session: string
  readonly agent: string
  readonly state: RunState
  readonly createdAtMs: number
  /** Absent if a request began the run. */
  readonly begunBy?: BegunBy
  readonly result?: AgentResult
  /** The waiting calls, while it is parked. */
  readonly pauses?: readonly PauseView[]
}

/** Data that a surface stores with a run. */
export interface RunMemo {
  readonly createdAtMs: number
  readonly state: RunState
  readonly isHidden: boolean
  /** The `echo` of each response's request, by the turn after which the response begins. */
  readonly echoes: Readonly<Record<string, JsonObject>>
}
