declare const command: {
  readonly verbs: {
    readonly list: {
      readonly run: (context: {
        readonly request: (path: string) => Promise<unknown>
        readonly print: (value: unknown, text: string) => void
      }) => Promise<void>
    }
  }
}
export default command
