// Who is asked, and what comes of it.
import type { Reply, Request } from '../../../src/client/client.ts'

export type Pause = NonNullable<Reply<'GET /api/sessions/:id/runs/:run'>['pauses']>[number]
export type Decision = Request<'POST /api/sessions/:id/runs/:run/decisions'>['body']
type Limits = Request<'POST /api/sessions/:id/runs/:run/limits'>['body']

/** How a person is asked, and what ends it. */
export interface Person {
  /** Resolves to a person's words, to undefined at the end of the input. */
  readonly ask: (prompt: string) => Promise<string | undefined>
  readonly note: (text: string) => void
  /** Somebody types: what can be asked in a second step is. Lines of a pipe are not guessed at. */
  readonly isTerminal?: boolean
  /** Aborted when the run is cancelled: then nothing is decided. */
  readonly signal: AbortSignal
}

/** What was decided, if anything was, and whether there was nobody to ask. */
export interface Decided {
  readonly decision?: Decision
  readonly limit?: Limits
  readonly isUnanswered: boolean
}
