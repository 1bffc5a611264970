import type { AgentResult, RunState } from '#contracts/agent.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { BegunBy } from './lineage.ts'
import type { Pause } from '#runtime/kernel/types/pause.ts'

/** What a run that was waited for came to: its result, or that it waits for someone outside. */
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
  /** Names exactly what this call asks now, where it has `asks`: an answer says which it was given to. */
  readonly asksHash?: string
  /** Of a call that waits for a yes: what its run has spent up to now. */
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
  /** What it waits for, while it is parked. */
  readonly pauses?: readonly PauseView[]
}

/** What a surface gave to keep with a run. */
export interface RunMemo {
  readonly createdAtMs: number
  readonly state: RunState
  readonly isHidden: boolean
  /** By the turn after which each response begins: `echo` of its request. */
  readonly echoes: Readonly<Record<string, JsonObject>>
}
