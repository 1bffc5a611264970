import type { AgentResult } from '#contracts/agent.ts'
import type { KnowledgeSettings, MemorySettings } from '#contracts/manifest/agent-manifest.ts'
import type { Message } from '#contracts/message.ts'

/** A run, as its memory knows it. */
export interface RememberedRun {
  readonly principal: string
  readonly agent: string
  readonly session: string
  readonly run: string
  /** The messages of the task. */
  readonly asked: readonly Message[]
}

/** Long-term memory and documents around a run, for agents that have them. */
export interface RunMemory {
  /**
   * Memories and document passages for a run, with their labels; empty if none fits. Never rejects: a run goes on
   * without.
   */
  readonly recall: (
    run: RememberedRun,
    settings: {
      readonly memory?: MemorySettings | undefined
      readonly knowledge?: KnowledgeSettings | undefined
    },
  ) => Promise<Message | undefined>
  /** Stores memories of the run. Never rejects. */
  readonly keep: (
    run: RememberedRun,
    settings: MemorySettings,
    result: AgentResult,
  ) => Promise<void>
}
