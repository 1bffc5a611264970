/** What some of the tokens of a model call are. A summary stands for what was said before it. */
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

/** What fills the window of a session's next model call, as far as that is known before anybody asks something. */
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
  /** What the call costs: its input, and with as many tokens of output as it may have. Absent if no price is known. */
  readonly costUsd?: { readonly input: number; readonly atMost: number }
}
