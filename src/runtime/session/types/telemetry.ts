import type { TraceLink } from '#contracts/trace.ts'
import { defined } from '#contracts/defined.ts'
import type { AgentResult } from '#contracts/agent.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Message } from '#contracts/message.ts'

/** The header of one request, with the span it is part of. */
interface TracePosition {
  readonly trace: string
  readonly span: string
  readonly link?: TraceLink | undefined
}

/** A `traceparent` header of W3C Trace Context, version 00. */
export function toTraceparent({ trace, span, link }: TracePosition): string {
  return `00-${trace}-${span}-${link?.isSampled === false ? '00' : '01'}`
}

/** The trace headers of a request to a model server. */
export function toTraceHeaders(position: TracePosition): Readonly<Record<string, string>> {
  const state = position.link?.state
  return {
    traceparent: toTraceparent(position),
    ...defined({ tracestate: state }),
  }
}

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
