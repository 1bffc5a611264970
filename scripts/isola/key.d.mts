/** What a verb is given by the frame. */
export interface CommandContext {
  readonly args: readonly string[]
  readonly values: Readonly<Record<string, unknown>>
  /** Parsed JSON of the answer; throws with the server's message. */
  readonly request: (path: string, init?: RequestInit) => Promise<unknown>
  readonly print: (valueForJson: unknown, textForPeople: string) => void
  readonly isJson: boolean
  readonly stderr: { readonly write: (text: string) => void }
}

export interface Verb {
  readonly usage: string
  /** Of `node:util` parseArgs. */
  readonly options: Readonly<
    Record<string, { readonly type: 'string' | 'boolean'; readonly multiple?: boolean }>
  >
  readonly run: (context: CommandContext) => Promise<void>
}

declare const command: {
  readonly noun: 'key'
  readonly verbs: Readonly<Record<'add' | 'list' | 'change' | 'revoke' | 'rotate', Verb>>
}
export default command
