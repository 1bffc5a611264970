import type { EventData } from '#contracts/event.ts'
import type { ToolOwner } from '#contracts/tool.ts'

/** Whose request to a model it is: a turn's n-th, or that of a tool's code. */
export type ModelRequestOf = ToolOwner & Pick<EventData<'model_called'>, 'turn' | 'request'>

/** What became of an attempt that failed. */
export interface FailedAttempt extends Pick<
  EventData<'model_failed'>,
  'code' | 'partialChars' | 'durationMs'
> {
  readonly isSent: boolean
  readonly isBilled: boolean
}
