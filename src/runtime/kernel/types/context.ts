import type { Message } from '#contracts/message.ts'
import type { Compaction } from '#contracts/context.ts'

/** What is sent, and what was decided for it now. */
export interface BuiltContext {
  readonly messages: readonly Message[]
  /** Estimated input tokens of the call, tools included. */
  readonly tokens: number
  /** To be on record before the call is made: later steps, a resumed run and a replay are given it. */
  readonly compaction?: Compaction
}
