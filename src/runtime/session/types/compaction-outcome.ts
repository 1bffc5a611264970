import type { AgentResult } from '#contracts/agent.ts'
import type { CompactionReport } from '#contracts/context.ts'
import type { Message } from '#contracts/message.ts'

/** The outcome of a run that only compacts. */
export interface CompactionOutcome {
  readonly result: AgentResult
  readonly createdAtMs: number
  /** Absent if nothing could leave. */
  readonly report?: CompactionReport
  /** For a client that keeps them itself: what stands for all that it sent. */
  readonly messages?: readonly Message[]
}
