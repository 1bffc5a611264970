import type { AgentResult } from '#contracts/agent.ts'
import type { CompactionReport } from '#contracts/context.ts'
import type { Message } from '#contracts/message.ts'

/** The outcome of a run that only compacts. */
export interface CompactionOutcome {
  readonly result: AgentResult
  readonly createdAtMs: number
  /** Absent if nothing could leave. */
  readonly report?: CompactionReport
  /** For a client that stores its own transcript: the messages that replace it. */
  readonly messages?: readonly Message[]
}
