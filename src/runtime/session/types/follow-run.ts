import type { StreamItem } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { RunView } from './run-view.ts'
import type { Submitted } from './submit-as.ts'

type Capability = 'elicitation' | 'sampling' | 'roots'

/** What somebody can be asked: a form to fill in, a model's answer, folders. */
export type Askable = { readonly [Kind in Capability]?: unknown }

/** One question of a waiting call, as whoever is outside gets it. */
export interface Question {
  /** Names it in this run's questions. */
  readonly key: string
  readonly call: string
  /** Its key in the call's own questions. */
  readonly own: string
  /** Names what the call asks now: an answer holds for that only. */
  readonly asksHash: string
  readonly kind: Capability
  readonly isOptional: boolean
  /** In the words of the protocol that has them, MCP's. */
  readonly request: JsonObject
}

/** Answers by the keys of their questions. */
export type Answers = Readonly<Record<string, unknown>>

/** A run that is begun for somebody. */
export interface NewRun {
  readonly work: Submitted
  /** Nobody waits for it. */
  readonly isBackground?: boolean
}

/** A run that is there, for somebody who comes back to it. */
export interface RunPlace {
  readonly session: string
  readonly run: string
}

/** For how long a run is followed, and what becomes of it when whoever follows it is gone. */
export interface Following {
  /** So long is waited for the outcome, in milliseconds. */
  readonly waitMs: number
  /** Whoever follows has cancelled, or gone. */
  readonly signal: AbortSignal
  /** Gone is cancelled; else it may only have lost its connection. */
  readonly isCancelledByClose: boolean
  /** Work that goes on when whoever follows is gone. */
  readonly keepAlive: (work: Promise<unknown>) => void
}

/** Somebody who waits for a run, and may be asked something meanwhile; `Asked` is how they are asked. */
export interface Conversation<Asked> extends Following {
  readonly principal: string
  /** What they can be asked; absent if nothing, and they see what the run waits for. */
  readonly can: Askable | undefined
  /** Else they see that a call waits whose question only a yes answers, and are not asked it. */
  readonly mayApprove: boolean
  /** What came along for these questions. */
  readonly given: (questions: readonly Question[]) => Answers
  readonly ask: (view: RunView, questions: readonly Question[]) => Promise<Asked>
  /** They cannot be asked this, and it has to be answered: the run is not left waiting. */
  readonly refuse: (view: RunView, questions: readonly Question[]) => Promise<never>
  /** Told what happens from now on. A listener each time a run is followed. */
  readonly listen: () => (item: StreamItem) => void
}

/**
 * Has a run work until it is over, waits for someone else, or takes too long. What it asks is answered out of what came
 * along, else whoever waits is asked, and comes back. One that cannot be asked sees what the run waits for. Throws what
 * the session refused.
 */
export type Converse = <Asked>(
  conversation: Conversation<Asked>,
  of: RunPlace | NewRun,
) => Promise<RunView | Asked>

/** All that a run has told by now. Throws what the session refused. */
export type ReadLog = (principal: string, run: RunPlace) => Promise<readonly StreamItem[]>
