import type { StreamItem } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { RunView } from './run-view.ts'
import type { Submitted } from './submit-as.ts'

type Capability = 'elicitation' | 'sampling' | 'roots'

/** The kinds of questions that a client can answer: a form to fill in, a model's answer, folders. */
export type Askable = { readonly [Kind in Capability]?: unknown }

/** One question of a waiting call, as a client gets it. */
export interface Question {
  /** Names it in this run's questions. */
  readonly key: string
  readonly call: string
  /** Its key in the call's own questions. */
  readonly own: string
  /** The hash of the call's current questions. An answer is valid for these only. */
  readonly asksHash: string
  readonly kind: Capability
  readonly isOptional: boolean
  /** The request in the form of MCP. */
  readonly request: JsonObject
}

/** Answers by the keys of their questions. */
export type Answers = Readonly<Record<string, unknown>>

/** A run that a client begins. */
export interface NewRun {
  readonly work: Submitted
  /** The client does not wait for it. */
  readonly isBackground?: boolean
}

/** An existing run, for a client that comes back to it. */
export interface RunPlace {
  readonly session: string
  readonly run: string
}

/** How long a client follows a run, and what happens once the client is gone. */
export interface Following {
  /** How long to wait for the outcome, in milliseconds. */
  readonly waitMs: number
  /** Aborts when the client cancels or disconnects. */
  readonly signal: AbortSignal
  /** True if a disconnect cancels the run; else the client may only have lost its connection. */
  readonly isCancelledByClose: boolean
  /** Keeps work alive after the client is gone. */
  readonly keepAlive: (work: Promise<unknown>) => void
}

/** A client that follows a run and may answer its questions. `Asked` is the form in which it gets them. */
export interface Conversation<Asked> extends Following {
  readonly principal: string
  /** The questions that the client can answer. Absent: none, so it sees what the run waits for. */
  readonly can: Askable | undefined
  /** False: a question that only an approver may answer is shown as waiting, and not put to the client. */
  readonly mayApprove: boolean
  /** The answers that the client's request brought for these questions. */
  readonly given: (questions: readonly Question[]) => Answers
  readonly ask: (view: RunView, questions: readonly Question[]) => Promise<Asked>
  /**
   * Ends the conversation over a question that must be answered and that the client cannot answer: the run does not
   * stay waiting.
   */
  readonly refuse: (view: RunView, questions: readonly Question[]) => Promise<never>
  /** Makes a listener for new events, once each time a run is followed. */
  readonly listen: () => (item: StreamItem) => void
}

/**
 * Follows a run until it is over, waits for another person or client, or takes too long. Its questions are answered
 * from the request; the client gets the others and comes back. A client that cannot answer sees what the run waits for.
 * Throws the refusals of the session.
 */
export type Converse = <Asked>(
  conversation: Conversation<Asked>,
  of: RunPlace | NewRun,
) => Promise<RunView | Asked>

/** All events of a run so far. Throws the refusals of the session. */
export type ReadLog = (principal: string, run: RunPlace) => Promise<readonly StreamItem[]>
