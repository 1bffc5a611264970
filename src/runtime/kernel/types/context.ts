import type { Message } from '#contracts/message.ts'
import type { Compaction } from '#contracts/context.ts'

/** The messages that a model is sent, and the compaction made for this call. */
export interface BuiltContext {
  readonly messages: readonly Message[]
  /** Estimated input tokens of the call, tools included. */
  readonly tokens: number
  /** Has to be stored before the call is made: later steps, a resumed run and a replay apply it. */
  readonly compaction?: Compaction
}
