// The person who is asked, and the decision.
import type { Reply, Request } from '../../src/client/client.ts'

export type Pause = NonNullable<Reply<'GET /api/sessions/:id/runs/:run'>['pauses']>[number]
export type Decision = Request<'POST /api/sessions/:id/runs/:run/decisions'>['body']
type Limits = Request<'POST /api/sessions/:id/runs/:run/limits'>['body']

/** How a person is asked, and what ends it. */
export interface Person {
  /** Resolves to a person's words, to undefined at the end of the input. */
  readonly ask: (prompt: string) => Promise<string | undefined>
  readonly note: (text: string) => void
  /** A person types, so that a second question is possible. A line of a pipe is one answer. */
  readonly isTerminal?: boolean
  /** Aborted when the run is cancelled: then nothing is decided. */
  readonly signal: AbortSignal
}

/** The decision or the new limit, if there is one, and whether no person was there to ask. */
export interface Decided {
  readonly decision?: Decision
  readonly limit?: Limits
  readonly isUnanswered: boolean
}
