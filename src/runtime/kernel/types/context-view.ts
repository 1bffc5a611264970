/** The kinds of content in a model call. A summary stands for the messages before it. */
export const contextPartKinds = [
  'instructions',
  'added_by_plugins',
  'tools',
  'user_messages',
  'assistant_messages',
  'tool_results',
  'cleared_results',
  'summary',
] as const

export interface ContextPartView {
  readonly kind: (typeof contextPartKinds)[number]
  /** Estimated as the reservation of a call is. */
  readonly tokens: number
  /** How many messages, tools or texts. */
  readonly count: number
}

/** The window of a session's next model call, as far as it is known before the next message. */
export interface ContextView {
  readonly agent: string
  /** The model that would answer; absent if none would. */
  readonly model?: string
  /** Input of the call: all parts, and what chat formats add to a request. */
  readonly tokens: number
  /** The model's input limit in tokens: its window less `maxOutputTokens`. Absent if the model declares no window. */
  readonly windowTokens?: number
  /** The output cap of the call. */
  readonly maxOutputTokens?: number
  /** Above this it is compacted by itself, and to that; absent without a window. */
  readonly startTokens?: number
  readonly targetTokens?: number
  /** The kinds of messages in the window, in the order in which they are sent. */
  readonly parts: readonly ContextPartView[]
  /** How many messages the transcript has, of every sender. A model is sent fewer once a summary replaces some. */
  readonly saidMessages: number
  /** The cost of the call: its input, and with as much output as it may have. Absent if no price is known. */
  readonly costUsd?: { readonly input: number; readonly atMost: number }
}
