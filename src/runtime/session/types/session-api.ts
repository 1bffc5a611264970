import type { ModelAmount, Limits } from '#contracts/lease.ts'
import type { Decider, Decision } from '#runtime/kernel/types/pause.ts'
import type {
  CompactionOutcome,
  RunMemo,
  RunOutcome,
  RunView,
  SessionAbout,
  SessionTree,
  TranscriptPage,
  TranscriptQuery,
  TreeQuery,
  ItemsPage,
  ItemsQuery,
} from './session-view.ts'
import type { ContextView } from '#runtime/kernel/types/context.ts'
import type { FloorView } from './floor.ts'
import type { JsonObject } from '#contracts/json.ts'
import type {
  Delivery,
  PieceAnswer,
  RunSpending,
  SteerReceipt,
  SubmitReceipt,
  SubmitRequest,
} from './submission.ts'
import type { Message } from '#contracts/message.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'

/** A text that is taken out wherever it is quoted or, as `whole`, only where it is all of a text. */
export type ForgottenText = string | { readonly whole: string }

/** The reservation of a failed attempt that may have reached a provider, and its real spending. */
export interface AttemptSettlement {
  readonly held: ModelAmount
  readonly spent: ModelAmount
}

/**
 * The settlement of an attempt: of a run's own attempt by its place in the log, of a run below by the settlement of its
 * session.
 */
export type ConfirmRequest = {
  readonly run: string
  /** Names the attempt in every run that it is booked with. */
  readonly id: string
  /** True: checks whether this is possible, and writes nothing. */
  readonly isLook?: true
} & (
  | {
      readonly seq: number
      /** The whole reservation if absent. */
      readonly spent?: Partial<ModelAmount>
    }
  | { readonly settlement: AttemptSettlement }
)

/** The attempt as its run has it now, and the run above that it is booked with as well. */
export interface ConfirmedAttempt {
  readonly settlement: AttemptSettlement
  /** True if it was not settled before. */
  readonly isNew: boolean
  readonly principal: string
  readonly agent: string
  readonly above?: { readonly session: string; readonly run: string }
}

/** A run whose client reads its stream. */
export interface StartedStream {
  readonly receipt: SubmitReceipt
  /** Names this reader for `abandon`: an object learns only late that no client reads a stream. */
  readonly reader: string
  readonly stream: ReadableStream<Uint8Array>
}

/** Everything a `Session` object answers over RPC. Streams carry one JSON `StreamItem` a line. */
export interface SessionApi {
  readonly create: (about: {
    /** Absent: the first run names it. */
    readonly agent?: string
    readonly metadata?: JsonObject
    /** Messages before the first run. */
    readonly messages?: readonly Message[]
    readonly principal: string
    readonly session: string
    /** The limits of all its runs together. */
    readonly limits?: Partial<Limits>
    /** The persona of the orchestrator in this session; `request_invalid` if it does not exist. */
    readonly persona?: string
  }) => Promise<ObjectReply<SessionAbout>>
  /**
   * Sets its metadata or its persona (`null`: none of its own), or adds messages before its first run
   * (`request_conflict` if it has one).
   */
  readonly amend: (
    principal: string,
    change: {
      readonly metadata?: JsonObject
      readonly persona?: string | null
      readonly messages?: readonly Message[]
    },
  ) => Promise<ObjectReply<SessionAbout>>
  readonly about: (principal: string) => Promise<ObjectReply<SessionAbout>>
  readonly submit: (
    session: string,
    submission: SubmitRequest,
  ) => Promise<ObjectReply<SubmitReceipt>>
  /** Submits and waits for the final outcome. */
  readonly run: (session: string, submission: SubmitRequest) => Promise<ObjectReply<RunOutcome>>
  /**
   * Makes a run that only compacts (`compact` names its caller), and waits for it. The model options of the last run
   * apply. For the session: throws `request_conflict` while a run is not over, or if nothing would be compacted.
   */
  readonly compact: (
    session: string,
    submission: SubmitRequest,
  ) => Promise<ObjectReply<CompactionOutcome>>
  /** Submits and streams from the run's first event, deltas included, to its terminal event. */
  readonly runStream: (
    session: string,
    submission: SubmitRequest,
  ) => Promise<ObjectReply<StartedStream>>
  /** The owner of the session: for a caller that may read all sessions. */
  readonly owner: () => Promise<ObjectReply<string>>
  readonly result: (principal: string, run: string) => Promise<ObjectReply<RunView>>
  readonly recall: (principal: string, run: string) => Promise<ObjectReply<RunMemo>>
  /**
   * Removes forgotten texts from all rows but the owner's own messages, with the summaries of such a conversation.
   * `request_conflict` while a run is under way. Answers how many rows were changed.
   */
  readonly forgetTexts: (
    principal: string,
    /** `agent`: the texts of the erased maker's agent in the pins of the session's runs. */
    texts: readonly ForgottenText[] | 'agent',
  ) => Promise<ObjectReply<{ readonly changed: number }>>
  /** Marks a run as hidden in `recall`. The transcript keeps the run, since other runs may branch from it. */
  readonly hide: (principal: string, run: string) => Promise<ObjectReply<RunMemo>>
  /**
   * Everything after `afterSeq`, then live; ends after the terminal event of `run` if one is named, else when
   * nothing runs.
   */
  readonly events: (
    principal: string,
    options: {
      readonly afterSeq: number
      readonly run?: string
      readonly follow: boolean
      /**
       * The run that the cursor belongs to, and the reader's name of the parameter: an unknown run is refused with that
       * name.
       */
      readonly cursor?: { readonly run: string; readonly param: string }
    },
  ) => Promise<ObjectReply<ReadableStream<Uint8Array>>>
  readonly cancel: (principal: string, run: string, reason: string) => Promise<ObjectReply<RunView>>
  /** Cancels a run that no client follows or waits for, except `reader`, which is gone. */
  readonly abandon: (
    principal: string,
    run: string,
    reader: string,
  ) => Promise<ObjectReply<RunView>>
  /**
   * Adds a message to a run that is not over; its next turn reads it. Refused with `request_conflict` once it is over.
   */
  readonly steer: (
    principal: string,
    run: string,
    message: Message,
    idempotencyKey?: string,
  ) => Promise<ObjectReply<SteerReceipt>>
  /**
   * Settles a waiting call of a parked run. The same decision again changes nothing; another is refused with
   * `request_conflict`, which names the decider and the time. `request_forbidden` if the call waits for another
   * approver. @param decider The session's own principal if absent.
   */
  readonly decide: (
    principal: string,
    run: string,
    call: string,
    decision: Decision,
    decider?: Decider,
  ) => Promise<ObjectReply<RunView>>
  /**
   * Raises or lowers the limits of a run that is not over. A run that waits for a raise goes on. The same change again
   * has no effect. Refused with `request_conflict` if the run is over or a sub-agent's. `isOperator`: also beyond the
   * principal's day.
   */
  readonly changeLimits: (
    principal: string,
    run: string,
    change: { readonly limits: Partial<Limits>; readonly isOperator: boolean },
  ) => Promise<ObjectReply<RunView>>
  /**
   * Begins a new run of the task of a run that was given up. For the operator. A repeated request joins the existing
   * retry.
   */
  readonly retry: (run: string) => Promise<ObjectReply<SubmitReceipt>>
  /** Cancels every run that a parent's call started here, or will start here. */
  readonly cancelCall: (parentRun: string, call: string, reason: string) => Promise<void>
  /** Cancels all work of a key or a sign-in that has ended. */
  readonly endHeld: (credential: string, reason: string) => Promise<void>
  /** Whether work of a key or a sign-in is under way or waits here. */
  readonly worksWith: (credential: string) => Promise<boolean>
  /**
   * Ends the handoff, and cancels a run that is passing a message on in it. `request_conflict` if there is none. @param
   * by The operator who ends it; the session's user if absent.
   */
  readonly reclaim: (principal: string, by?: string) => Promise<ObjectReply<FloorView>>
  /** Delivers the outcome of a call that was started elsewhere. A repeated delivery has no effect. */
  readonly deliver: (delivery: Delivery) => Promise<ObjectReply<null>>
  /**
   * Settles a failed attempt that may have reached a provider, of this session or of one below it. The same settlement
   * again changes nothing; another one is refused with `request_conflict`, as is an attempt of a run that is not over.
   */
  readonly confirm: (request: ConfirmRequest) => Promise<ObjectReply<ConfirmedAttempt>>
  /** The spending of a run so far; `unknown` if there is no such run. For the ledger above it. */
  readonly spentBy: (run: string) => Promise<RunSpending>
  /** Gives back a piece of the day that no run has taken. For the ledger above it. */
  readonly giveBack: (piece: string) => Promise<PieceAnswer>
  readonly transcript: (
    principal: string,
    query?: TranscriptQuery,
  ) => Promise<ObjectReply<TranscriptPage>>
  /** The window of its next model call, by kind. */
  readonly context: (principal: string) => Promise<ObjectReply<ContextView>>
  /** The items of the conversation as the client knows them, every branch in accept order. */
  readonly items: (principal: string, query: ItemsQuery) => Promise<ObjectReply<ItemsPage>>
  readonly tree: (principal: string, query?: TreeQuery) => Promise<ObjectReply<SessionTree>>
  readonly delete: (principal: string) => Promise<ObjectReply<{ readonly deleted: true }>>
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
}

/** Reaches sessions by id, so that no room needs a Durable Object namespace. */
export interface SessionGateway {
  readonly at: (session: string) => SessionApi
  /** The id of a session that a client named, or of the child of a call. The same parts give the same id. */
  readonly idFor: (kind: 'named' | 'child', parts: readonly string[]) => Promise<string>
}
