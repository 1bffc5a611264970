import type { Message } from '#contracts/message.ts'

/** The kind of a fact, by its use for the agent later. */
export const factKinds = ['recall', 'artefact', 'decision', 'continuation'] as const
export type FactKind = (typeof factKinds)[number]

/**
 * Why a fact may not be lost. The scorer itself sees which are of the task under way (`goal` as well) and which are in
 * the last turns, at each compaction.
 */
export type PinReason = 'rules' | 'goal' | 'named again' | 'approval' | 'open pause'

/** One fact planted in a transcript that the agent will need again. */
export interface Fact {
  readonly kind: FactKind
  /** Finer than the kind: `date`, `correction`, `commit`, `denied`, `todo`, … */
  readonly form: string
  /** Index of the message in which it stands first. */
  readonly at: number
  /** All of them have to be found in one message, or in one answer of a read, after `normalise`. */
  readonly strings: readonly string[]
  /** What an agent that does not know the strings would search for: the name they stand beside. */
  readonly cue: string
  /** From this index on the fact is not needed: it was corrected, or done. Absent: to the end. */
  readonly until?: number
  /** Indexes of assistant messages that name an artefact again; it has to be at hand right before each. */
  readonly namedAgain: readonly number[]
  /** From `from` on it may not be lost. */
  readonly pinned?: { readonly reason: PinReason; readonly from: number }
}

export interface Transcript {
  readonly seed: number
  readonly number: number
  readonly domain: string
  readonly language: string
  /** The window of the model that answers, in tokens. */
  readonly windowTokens: number
  /** Each call is answered before the next message that is no answer. */
  readonly messages: readonly Message[]
  readonly facts: readonly Fact[]
  /** Calls that a person approved or denied: `at` is the index of the answer. */
  readonly decided: readonly { readonly callId: string; readonly at: number }[]
  /** Calls that still wait for a person from `at` on, until `until`; their answer so far says `tool_pending`. */
  readonly waiting: readonly {
    readonly callId: string
    readonly at: number
    readonly until?: number
  }[]
}

/**
 * The text in which strings are looked for: composed Unicode, escapes of JSON taken away however often they were put
 * on, no white space. So a result that was kept as JSON, indented JSON or text is found alike; upper and lower case
 * count, since ids do.
 */
export const normalise = (text: string): string =>
  text
    .replace(/\\+u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    .replace(/\\+[nrt]/g, '')
    .replace(/\\+/g, '')
    .replace(/\s+/g, '')
    .normalize('NFC')

/** Everything of a message that a model would read. */
export function textOf(message: Message): string {
  switch (message.role) {
    case 'system':
    case 'user':
      return message.text
    case 'assistant':
      return [
        message.text,
        ...(message.toolCalls ?? []).map(({ name, input }) => `${name} ${JSON.stringify(input)}`),
      ].join('\n')
    case 'tool':
      return typeof message.output === 'string' ? message.output : JSON.stringify(message.output)
  }
}
