import type { ForgottenText } from './forgotten-text.ts'
import type { Decider } from '#runtime/kernel/types/approval.ts'
import type { CompactionOutcome } from './compaction-outcome.ts'
import type { ContextView } from '#runtime/kernel/types/context-view.ts'
import type { FloorView } from './floor.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Delivery, RunSpending } from './lineage.ts'
import type { Message } from '#contracts/message.ts'
import type { Decision } from '#runtime/kernel/types/pause.ts'
import type { Reply } from '#contracts/reply.ts'
import type { RunMemo, RunOutcome, RunView } from './run-view.ts'
import type { ItemsPage, ItemsQuery } from './said-item.ts'
import type {
  SessionAbout,
  SessionTree,
  TranscriptPage,
  TranscriptQuery,
  TreeQuery,
} from './session-view.ts'
import type { StorageAnswer, StorageRequest } from './space.ts'
import type { ConfirmedAttempt, ConfirmRequest } from './unconfirmed.ts'
import type { SteerReceipt, SubmitReceipt, SubmitRequest } from './submission.ts'

/** A run that is read as it goes. */
export interface StartedStream {
  readonly receipt: SubmitReceipt
  /** Names this reader for `abandon`: an object notices only late that a stream is not read. */
  readonly reader: string
  readonly stream: ReadableStream<Uint8Array>
}

/** Everything a `Session` object answers over RPC. Streams carry one JSON `StreamItem` a line. */
export interface SessionApi {
  readonly create: (about: {
    /** Absent: the first run says which. */
    readonly agent?: string
    readonly metadata?: JsonObject
    /** What was said before. */
    readonly messages?: readonly Message[]
    readonly principal: string
    readonly session: string
    /** What all its runs together may spend. */
    readonly limits?: Partial<Limits>
    /** What the orchestrator speaks as in it; `request_invalid` if there is none of this name. */
    readonly persona?: string
  }) => Promise<Reply<SessionAbout>>
  /** Sets its metadata or its persona (`null`: none of its own), or adds to what was said before its first run (`request_conflict` if it has one). */
  readonly amend: (
    principal: string,
    change: {
      readonly metadata?: JsonObject
      readonly persona?: string | null
      readonly messages?: readonly Message[]
    },
  ) => Promise<Reply<SessionAbout>>
  readonly about: (principal: string) => Promise<Reply<SessionAbout>>
  readonly submit: (session: string, submission: SubmitRequest) => Promise<Reply<SubmitReceipt>>
  /** Submits and waits for the final outcome. */
  readonly run: (session: string, submission: SubmitRequest) => Promise<Reply<RunOutcome>>
  /**
   * Makes a run that only compacts (`compact` says for whom), and waits for it. What the last run asked of its model
   * holds for it too. For the session: throws `request_conflict` while a run is not over, or if nothing would leave.
   */
  readonly compact: (
    session: string,
    submission: SubmitRequest,
  ) => Promise<Reply<CompactionOutcome>>
  /** Submits and streams from the run's first event, deltas included, to its terminal event. */
  readonly runStream: (session: string, submission: SubmitRequest) => Promise<Reply<StartedStream>>
  /** Whose session it is: for those who may see everybody's. */
  readonly owner: () => Promise<Reply<string>>
  readonly result: (principal: string, run: string) => Promise<Reply<RunView>>
  readonly recall: (principal: string, run: string) => Promise<Reply<RunMemo>>
  /**
   * Takes texts that were forgotten out of everything but what its owner wrote, with the summaries of such a conversation.
   * `request_conflict` while something is under way. Answers how many rows were changed.
   */
  readonly forgetTexts: (
    principal: string,
    /** Or, of a session whose agent's maker is erased, what its runs were begun with of that. */
    texts: readonly ForgottenText[] | 'agent',
  ) => Promise<Reply<{ readonly changed: number }>>
  /** `recall` says so from now on; the transcript keeps the run, since others may go on from it. */
  readonly hide: (principal: string, run: string) => Promise<Reply<RunMemo>>
  /** Everything after `afterSeq`, then live; ends after the terminal event of `run` if one is named, else when nothing runs. */
  readonly events: (
    principal: string,
    options: {
      readonly afterSeq: number
      readonly run?: string
      readonly follow: boolean
      /** The run that a place is of, and what the reader calls that place: refused by that name if it is none of here. */
      readonly cursor?: { readonly run: string; readonly param: string }
    },
  ) => Promise<Reply<ReadableStream<Uint8Array>>>
  readonly cancel: (principal: string, run: string, reason: string) => Promise<Reply<RunView>>
  /** Cancels a run that nobody but `reader`, who has gone, follows or waits for. */
  readonly abandon: (principal: string, run: string, reader: string) => Promise<Reply<RunView>>
  /** Gives a run that is not over another message; its next turn sees it. Refused with `request_conflict` once it is over. */
  readonly steer: (
    principal: string,
    run: string,
    message: Message,
    idempotencyKey?: string,
  ) => Promise<Reply<SteerReceipt>>
  /**
   * Settles what a parked run waits for. The same decision again changes nothing; another is refused with
   * `request_conflict`, with who decided and when. `request_forbidden` if a yes of that one is not what the call waits
   * for. @param decider The session's own principal if absent.
   */
  readonly decide: (
    principal: string,
    run: string,
    call: string,
    decision: Decision,
    decider?: Decider,
  ) => Promise<Reply<RunView>>
  /**
   * Raises or lowers the limits of a run that is not over; one that waits for it goes on. The same again changes
   * nothing. Refused with `request_conflict` where it is over, or a sub-agent's. `isOperator`: also what the day has not.
   */
  readonly changeLimits: (
    principal: string,
    run: string,
    change: { readonly limits: Partial<Limits>; readonly isOperator: boolean },
  ) => Promise<Reply<RunView>>
  /** A new run of the same task for one that was given up. For the operator; the same run joins the retry that is there. */
  readonly retry: (run: string) => Promise<Reply<SubmitReceipt>>
  /** Cancels whatever a parent's call started here, or will. */
  readonly cancelCall: (parentRun: string, call: string, reason: string) => Promise<void>
  /** Cancels what was asked for with a key or a sign-in that has ended. */
  readonly endHeld: (credential: string, reason: string) => Promise<void>
  /** Whether anything that was asked for with a key or a sign-in works or waits here. */
  readonly worksWith: (credential: string) => Promise<boolean>
  /**
   * Takes the conversation back from whoever it was handed to, with what is passed on at this moment. `request_conflict`
   * if it is with the session's own agent. @param by The operator who does it; its user if absent.
   */
  readonly reclaim: (principal: string, by?: string) => Promise<Reply<FloorView>>
  /** The one outcome of what a call started elsewhere; may come twice. */
  readonly deliver: (delivery: Delivery) => Promise<Reply<null>>
  /**
   * Settles a failed attempt that may have reached a provider: of this session, or of one below it. The same again
   * changes nothing; another is refused with `request_conflict`, as is an attempt of a run that is not over.
   */
  readonly confirm: (request: ConfirmRequest) => Promise<Reply<ConfirmedAttempt>>
  /** What a run has spent up to now; `unknown` if there is none. For the ledger above it. */
  readonly spentBy: (run: string) => Promise<RunSpending>
  readonly transcript: (
    principal: string,
    query?: TranscriptQuery,
  ) => Promise<Reply<TranscriptPage>>
  /** What fills the window of its next model call. */
  readonly context: (principal: string) => Promise<Reply<ContextView>>
  /** What was said as the client knows it, every branch in accept order. */
  readonly items: (principal: string, query: ItemsQuery) => Promise<Reply<ItemsPage>>
  readonly tree: (principal: string, query?: TreeQuery) => Promise<Reply<SessionTree>>
  readonly delete: (principal: string) => Promise<Reply<{ readonly deleted: true }>>
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
}

/** Reaches sessions by id, so that no room needs a Durable Object namespace. */
export interface SessionGateway {
  readonly at: (session: string) => SessionApi
  /** The id of the session a client named, or of the child of a call: always the same for the same parts. */
  readonly idFor: (kind: 'named' | 'child', parts: readonly string[]) => Promise<string>
}
