/** The question about a waiting call, as it is put to a person. */
export declare function questionOf(pause: {
  readonly kind: string
  readonly tool: string
  readonly input: object
  readonly about?: string
}): { readonly text: string; readonly prompt: string }

/** Asks about each call that waits in a session and below it, and says what was decided. */
export declare function settlePauses(
  tree: object,
  ways: {
    readonly request: (path: string, sent: { readonly json: unknown }) => Promise<unknown>
    readonly ask: (prompt: string) => Promise<string | undefined>
    readonly note: (text: string) => void
    readonly signal: AbortSignal
  },
): Promise<{ readonly count: number; readonly isUnanswered: boolean }>
