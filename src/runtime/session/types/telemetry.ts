import type { AgentResult } from '#contracts/agent.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Message } from '#contracts/message.ts'
import type { TraceLink } from '#contracts/trace.ts'

/** A finished run, with everything that its spans are made of: the same rows give the same spans. */
export interface RunRecord {
  readonly run: string
  readonly session: string
  readonly agent: string
  readonly trace: string
  readonly link?: TraceLink
  /** The parent's call, if the run is a sub-agent's. */
  readonly parent?: { readonly run: string; readonly call: string }
  readonly startedAtMs: number
  readonly turns: readonly TurnRecord[]
  readonly final: AgentResult
  /** The model's window before the first turn; only if content is captured. */
  readonly content?: { readonly instructions?: string; readonly messages: readonly Message[] }
}

/** `isFinal`: a retry would have the same outcome. The message is for the operator and holds no secret. */
export type ExportOutcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly message: string; readonly isFinal: boolean }

/** Where the traces of runs go. */
export interface Telemetry {
  /** Whether `RunRecord.content` is wanted: off unless the operator said so. */
  readonly capturesContent: boolean
  /** Takes a bounded time. Never rejects. */
  readonly export: (run: RunRecord) => Promise<ExportOutcome>
}
