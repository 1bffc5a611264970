/** What a verb is given by the frame. */
export interface CommandContext {
  readonly args: readonly string[]
  readonly request: (path: string, init?: RequestInit) => Promise<unknown>
  readonly print: (valueForJson: unknown, textForPeople: string) => void
  readonly stdin: unknown
  readonly stderr: { readonly write: (text: string) => void }
}

declare const command: {
  readonly noun: 'secret'
  readonly verbs: Readonly<
    Record<
      'set' | 'list' | 'remove' | 'rotate',
      { readonly usage: string; readonly run: (context: CommandContext) => Promise<number | void> }
    >
  >
}
export default command
