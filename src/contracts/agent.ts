import type { ContextSettings } from './context.ts'
import type { JsonObject, JsonSchema } from './json.ts'
import type { Label } from './label.ts'
import type { Limits, Usage } from './lease.ts'
import type { KnowledgeSettings, MemorySettings } from './manifest/agent-manifest.ts'
import type { ModelParameters } from './model.ts'

/** The public description of an agent (Y6). Immutable; the description is its tool's description. */
export interface AgentDescriptor {
  readonly name: string
  readonly description: string
  readonly integrationMode: 'tool' | 'handoff'
}

/** An agent made ready for a session: instructions rendered, model and limits settled. */
export interface AgentSpec {
  readonly id: string
  readonly name: string
  readonly description: string
  /** The rendered system prompt. */
  readonly instructions: string
  readonly model: string | undefined
  readonly parameters: ModelParameters
  /** Read anew whenever something is to begin: they may be lowered while it works. */
  readonly limits: Limits
  /** So often in a row the same calls with the same results are a loop; 0 is never, 5 if absent. */
  readonly maxRepeats?: number
  readonly outputSchema?: JsonSchema
  /** When its context is compacted, and to what. */
  readonly context?: ContextSettings
  /** Its reminders, and the notes it stores; absent: none. */
  readonly memory?: MemorySettings
  /** The scopes of documents it searches; absent: the deployment's, its principal's and its own. */
  readonly knowledge?: KnowledgeSettings
  /** Which template and version made the instructions. */
  readonly provenance: { readonly template: string; readonly version: string }
  /** Whose voice is in the instructions. */
  readonly persona?: SpokenPersona
}

/** The persona that an agent speaks as, for the record. */
interface SpokenPersona {
  readonly name: string
  /**
   * sha-256 of its files; absent where a default names a persona that no longer exists: then the agent speaks without
   * one.
   */
  readonly hash?: string
  /** Whose words it is; the operator's if absent. */
  readonly label?: Label
}

/** `parked` waits for an answer from outside; the last four are final, and each run reaches exactly one of them. */
export type RunState = 'queued' | 'running' | 'parked' | FinalState
/** How a run ended; only `completed` is a success. */
export type FinalState = 'completed' | 'stopped' | 'failed' | 'cancelled'

/** Why a run did not complete. The message is safe for any caller. */
export interface RunError {
  readonly code: string
  readonly message: string
}

/** One tool call of a run, as its result tells it. */
interface ActionSummary {
  readonly callId: string
  readonly tool: string
  readonly ok: boolean
  readonly code?: string
  readonly durationMs: number
}

/** One model call of a run, as the provider counted it. */
export interface ModelCallSummary {
  readonly provider: string
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costNanoUsd: number
}

/** The outcome of a run (I17, C1): a small stable base, then what observability, replay and billing want. */
export interface AgentResult {
  readonly id: string
  /** True for `completed` only. */
  readonly success: boolean
  readonly state: FinalState
  readonly result: string
  /** Why the last message ended, if not by itself: the output cap, or the provider's filter. */
  readonly finishReason?: 'length' | 'content_filter'
  /** Present if the agent has an `output_schema` and the result fits it. */
  readonly output?: JsonObject
  readonly error?: RunError
  /** The label of everything that went into the result; absent for a run that failed before its first plan. */
  readonly label?: Label
  readonly startedAtMs: number
  readonly finishedAtMs: number
  readonly sessionId: string
  readonly agent: string
  readonly trace: string
  readonly steps: number
  readonly actions: readonly ActionSummary[]
  readonly modelCalls: readonly ModelCallSummary[]
  readonly usage: Usage
  /** US dollars; a model without a price counts 0. */
  readonly costEstimateUsd: number
  readonly provenance: {
    readonly template: string
    readonly version: string
    readonly models: readonly string[]
  }
}
