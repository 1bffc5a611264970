import type { EventData } from '#contracts/event.ts'
import type { ToolOwner } from '#contracts/tool.ts'

/** The owner of a request to a model: a turn, or a tool's code. */
export type ModelRequestOf = ToolOwner & Pick<EventData<'model_called'>, 'turn' | 'request'>

/** The outcome of a failed attempt. */
export interface FailedAttempt extends Pick<
  EventData<'model_failed'>,
  'code' | 'partialChars' | 'durationMs'
> {
  readonly isSent: boolean
  readonly isBilled: boolean
}
