import type { CompactionOutcome, RunOutcome, RunView, PauseView } from './session-view.ts'
import type { Lineage, SubmitReceipt, SubmitRequest, SteerReceipt } from './submission.ts'
import type { Principal } from '#contracts/operations.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { StartedStream } from './session-api.ts'
import type { StreamItem } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Decider, Decision } from '#runtime/kernel/types/pause.ts'
import type { Limits } from '#contracts/lease.ts'

/** The caller: its principal, its key or sign-in, the limits of its day, and the agents that it may talk to. */
export type Asker = Pick<
  Principal,
  'id' | 'key' | 'grant' | 'limits' | 'agents' | 'persona' | 'claim'
>

type SaidOtherwise =
  | 'principal'
  | 'key'
  | 'grant'
  | 'dayLimits'
  | 'keyPersona'
  | 'allowedAgents'
  | 'claim'
  | 'protocol'
  | 'idempotencyKey'
  | 'lineage'
  | 'begunBy'
  | 'origin'

/** A task for a session, as every surface and schedule writes it. Plain data. */
export interface SessionTask extends Omit<SubmitRequest, SaidOtherwise | 'trace'> {
  readonly session: string
  /** W3C trace id that it belongs to; a new one if absent. */
  readonly trace?: string
}

/** Its origin: a client, a schedule, another deployment. */
export interface AskedFrom {
  /** Idempotency key, 1 to 255 characters: the same key and body join the existing run. */
  readonly key?: string | undefined
  /** The surface: `chat`, `responses`, `api`, `mcp`; of a plugin's with its id behind a colon. For the record alone. */
  readonly origin: string
}

/** Its origin, if the call of a run sent it: the caller's options and origin pass down as `runOptionFields` says. */
export interface AskedByCall {
  /** The call's id. */
  readonly key: string
  readonly above: { readonly options: RunOptions; readonly lineage: Lineage }
}

/**
 * A prepared submission. Each verb sends it and decides what the caller waits for. Expected faults are values, as of
 * `SessionApi`. Only with a key does a second sending join the same run.
 */
export interface Submitted {
  readonly session: string
  /** Its W3C trace id, to pass on. */
  readonly trace: string
  /** Returns as soon as the session has accepted it. */
  readonly submit: () => Promise<ObjectReply<SubmitReceipt>>
  /** Waits for the outcome. */
  readonly run: () => Promise<ObjectReply<RunOutcome>>
  /** Streams the run. */
  readonly runStream: () => Promise<ObjectReply<StartedStream>>
  readonly compact: () => Promise<ObjectReply<CompactionOutcome>>
}

/**
 * Sends a task to a session in a principal's name: the one path for surfaces, schedules and calls of an agent. Needs no
 * request. The caller has checked that the principal may do this.
 */
export type SubmitAs = (
  principal: Asker,
  ask: SessionTask,
  by: AskedFrom | AskedByCall,
) => Submitted

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
export interface BegunRun {
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
  of: RunPlace | BegunRun,
) => Promise<RunView | Asked>

/** All events of a run so far. Throws the refusals of the session. */
export type ReadLog = (principal: string, run: RunPlace) => Promise<readonly StreamItem[]>

/** The sender of an input for an existing run. */
interface Speaker {
  /** The owner of the session. The input is recorded in this name. */
  readonly principal: string
  /** The real sender, if another principal. Its right to do so is the caller's check. */
  readonly by?: string
}

/** The sender of a decision about a waiting call. The session checks whether this principal may decide. */
interface Decides extends Speaker {
  readonly decider: Decider
}

/** Input for a run that is not over. Each verb throws the refusals of the session. */
export interface RunInputs {
  /** Adds a message, which the run's next turn reads. The same key adds it once. */
  readonly steer: (
    speaker: Speaker,
    run: RunPlace,
    said: { readonly text: string; readonly key: string | undefined },
  ) => Promise<SteerReceipt>
  /**
   * Settles a waiting call. Another principal's approval covers exactly the call that waits now. `settled` is that
   * call, if it was looked up; absent if it was settled before.
   */
  readonly decide: (
    speaker: Decides,
    run: RunPlace,
    decided: { readonly call: string; readonly decision: Decision },
  ) => Promise<{ readonly view: RunView; readonly settled?: PauseView | undefined }>
  /**
   * Raises or lowers the limits of a run: its owner within the principal's day, an operator beyond it. Throws
   * `request_forbidden` with the highest amount that is allowed.
   */
  readonly changeLimits: (
    speaker: Speaker,
    run: RunPlace,
    change: { readonly limits: Partial<Limits>; readonly isOperator: boolean },
  ) => Promise<RunView>
  /** `wasOver`: the run had already ended. Checked only if another principal cancels. */
  readonly cancel: (
    speaker: Speaker,
    run: RunPlace,
    reason: string | undefined,
  ) => Promise<{ readonly view: RunView; readonly wasOver: boolean }>
}

/** The way to have work done, the same for every surface: none of it knows how a request came in. */
export interface SessionEntry {
  readonly submitAs: SubmitAs
  readonly converse: Converse
  readonly readLog: ReadLog
  readonly input: RunInputs
}
