import type { AgentResult } from './agent.ts'
import type { MemorySettings } from './memory-settings.ts'
import type { Message } from './message.ts'

/** A run, as its memory knows it. */
export interface RememberedRun {
  readonly principal: string
  readonly agent: string
  readonly session: string
  readonly run: string
  /** What was asked. */
  readonly asked: readonly Message[]
}

/** Long-term memory around a run, for agents that have one. */
export interface RunMemory {
  /** What it is reminded of, with the labels of that; nothing where nothing fits. Never rejects: a run goes on without. */
  readonly recall: (run: RememberedRun, settings: MemorySettings) => Promise<Message | undefined>
  /** Keeps what was said in it. Never rejects. */
  readonly keep: (
    run: RememberedRun,
    settings: MemorySettings,
    result: AgentResult,
  ) => Promise<void>
}
