import type { AgentResult, RunState } from './agent.ts'
import type { EventDraft, SessionEvent } from './event.ts'
import type { Json, JsonObject } from './json.ts'
import type { Limits, Usage } from './lease.ts'
import type { MemoryEntry } from './memory.ts'
import type { Message } from './message.ts'
import type { Decision, Pause } from './pause.ts'
import type { OwnLimits } from './own-limits.ts'
import type { ToolResult } from './tool.ts'
import type { TraceLink } from './trace.ts'
import type { RunOptions } from './run-options.ts'
import type { Reply } from './reply.ts'

/** Where a sub-agent's session hangs in its tree. */
export interface Lineage {
  readonly rootSession: string
  readonly parentSession: string
  readonly parentRun: string
  readonly parentCall: string
  readonly depth: number
  /** Agents above this one, root first. */
  readonly ancestry: readonly string[]
  /** This run's lease, out of the parent's. */
  readonly lease: Limits
  /** The parent does not wait: the outcome is delivered to it. */
  readonly isBackground?: boolean
  /** The outcome is to begin a run of the parent's session; otherwise it is noted for the next one. */
  readonly onOutcome?: 'run'
}

/** The outcome that began a run, in place of somebody who asked for it. */
export interface BegunBy {
  /** Of the parent's session: what started the work in the background. */
  readonly run: string
  readonly call: string
  /** Where the work was done. */
  readonly session: string
  /** How many outcomes led to it, one by the run of another; this one included. */
  readonly depth: number
}

/** Counts up when what sessions say to each other changes so that an older one would misread it. Unknown fields are ignored. */
export const sessionProtocol = 1

/** One task for a session. Plain data: it crosses Durable Object RPC. */
export interface Submission extends RunOptions {
  /** Set on the first submission; later ones must name the same agent. */
  readonly agent: string
  readonly principal: string
  /** Messages to append to the transcript; at least one, the last one not the agent's. */
  readonly messages: readonly Message[]
  readonly trace: string
  /** What came in with the trace; absent if it begins here. */
  readonly traceLink?: TraceLink
  /** The same key and body join the run that is there; another body is refused. */
  readonly idempotencyKey?: string
  readonly lineage?: Lineage
  readonly begunBy?: BegunBy
  /** The id of the key it was asked with, for the record; absent for the operator key. */
  readonly key?: string
  /** The id of the sign-in whose token it was asked with; absent for a key. */
  readonly grant?: string
  /** The principal's own limits of a day, as they were when it asked. */
  readonly dayLimits?: OwnLimits
  /** What it goes on from; absent: everything that was accepted before it. Two that name the same place are two branches. */
  readonly after?: ResponsePlace
  /** Nobody named the session, and nobody will come back to it: it is kept for an hour only. */
  readonly isStateless?: boolean
  /** Handed back by `recall`. To the session only `store` in it: with `false` nobody can name the response later. */
  readonly echo?: JsonObject
}

/**
 * A stretch of a run that a client got as one response: it begins after a turn (0: with the run) and ends where the
 * run waits for the client, or is over.
 */
export interface ResponsePlace {
  readonly run: string
  readonly turn: number
}

/** What the client's own tools returned. */
export interface ClientAnswers {
  readonly run: string
  readonly outputs: readonly { readonly call: string; readonly output: Json }[]
}

/**
 * One thing that was said in a session, as its client knows it. `run` and `key` name it for good; an output has the
 * key of its call, if that is ours.
 */
export type SaidItem = {
  /** Absent for what was said before the first run. */
  readonly run?: string
  readonly key: string
  /** What the model said: the turn. What came to it: the turn after which it came. */
  readonly turn: number
} & (
  | {
      readonly type: 'message'
      readonly role: 'user' | 'assistant'
      readonly text: string
      readonly images?: readonly string[]
    }
  | {
      readonly type: 'call'
      readonly call: string
      /** The run that made the call; absent for one that the client brought. */
      readonly callsOf?: string
      readonly name: string
      readonly input: JsonObject
    }
  | {
      readonly type: 'output'
      readonly call: string
      readonly callsOf?: string
      readonly output: Json
    }
)

/** Names one `SaidItem`. */
export type ItemPlace = Pick<SaidItem, 'type' | 'run' | 'key'>

export interface ItemsQuery {
  /** Only what came in with this response. Everything that was said otherwise. */
  readonly inputsOf?: ResponsePlace
  /** The one item, or none. */
  readonly only?: ItemPlace
  /** Those behind it, in the order asked for. Throws `request_invalid` if it is not among them. */
  readonly after?: ItemPlace
  readonly order: 'asc' | 'desc'
  /** At most so many; fewer if they are long, but one at least. */
  readonly limit: number
}

export interface ItemsPage {
  readonly items: readonly SaidItem[]
  readonly hasMore: boolean
}

/** A submission as a surface sends it. */
export interface SubmitRequest extends Omit<Submission, 'agent'> {
  /** Without it the session must be there, and its own agent works. */
  readonly agent?: string
  /** The caller names a session that it was given: an absent one is not made. */
  readonly mustExist?: boolean
  /** The agents that its principal may talk to: a session of another one looks absent. Everybody's if absent. */
  readonly allowedAgents?: readonly string[]
  /**
   * The run waits for these: it goes on, and `messages` (there may be none) are given to it on its way. If it does
   * not wait for them any more, `request_conflict`, unless it was given the same outputs: then it is joined.
   */
  readonly answers?: ClientAnswers
  /** `sessionProtocol` of the sender; 1 if absent. A later one is refused with `request_conflict`. */
  readonly protocol?: number
}

export interface SubmitReceipt {
  readonly session: string
  readonly run: string
  /** True if the run was there already under this idempotency key. */
  readonly isJoined: boolean
  readonly state: RunState
  /** When it was accepted, epoch milliseconds: the same for everyone who joins. */
  readonly createdAtMs: number
}

/** A message that a running run was given on its way. */
export interface SteerReceipt {
  readonly session: string
  readonly run: string
  /** Place among the messages this run was given, from 1: the same for a repeated request. */
  readonly place: number
}

/** What a run that was waited for came to: its result, or that it waits for someone outside. */
export type RunOutcome = AgentResult | ParkedView

export interface ParkedView {
  readonly id: string
  readonly sessionId: string
  readonly agent: string
  readonly trace: string
  readonly state: 'parked'
  readonly pauses: readonly PauseView[]
}

/** A waiting call as someone outside sees it. */
export interface PauseView extends Pause {
  /** Names exactly what this call asks now, where it has `asks`: an answer says which it was given to. */
  readonly asksHash?: string
  /** Epoch milliseconds; absent if it does not expire. */
  readonly expiresAtMs?: number
}

export interface RunView {
  readonly id: string
  readonly session: string
  readonly agent: string
  readonly state: RunState
  readonly createdAtMs: number
  /** Absent if somebody asked for it. */
  readonly begunBy?: BegunBy
  readonly result?: AgentResult
  /** What it waits for, while it is parked. */
  readonly pauses?: readonly PauseView[]
}

/** What a surface gave to keep with a run. */
export interface RunMemo {
  readonly createdAtMs: number
  readonly state: RunState
  readonly isHidden: boolean
  /** By the turn after which each response begins: `echo` of its request. */
  readonly echoes: Readonly<Record<string, JsonObject>>
}

/** What identifies a session. */
export interface SessionAbout {
  readonly id: string
  /** Empty until the first run says which. */
  readonly agent: string
  readonly principal: string
  readonly createdAtMs: number
  /** Of a conversation, as its client set it. */
  readonly metadata?: JsonObject
}

/** Which runs of a session are asked for: the last ones. */
export interface TreeQuery {
  /** The last ones before this run: `earlier` of another page. */
  readonly before?: string
  /** At most so many, 100 if absent; fewer if what they came to is long, but one at least. */
  readonly limit?: number
}

export interface TranscriptQuery {
  /** What was said behind this run: `next` of another page. From the beginning if absent. */
  readonly after?: string
}

/** A stretch of what was said, at most about 4,000,000 characters, one run at least. */
export interface TranscriptPage {
  readonly messages: readonly Message[]
  /** The last run of the page, if there is more behind it. */
  readonly next?: string
}

/** A session with what hangs below it, usage and cost per agent. */
export interface SessionTree extends SessionAbout {
  readonly trace?: string
  readonly parent?: { readonly session: string; readonly run: string; readonly call: string }
  /** In accept order: all of them, or the last ones. */
  readonly runs: readonly RunView[]
  /** The first of `runs`, if there are earlier ones: `before` of the next page. */
  readonly earlier?: string
  /** All this session's runs with everything below them. */
  readonly usage: Usage
  readonly costEstimateUsd: number
  /** What `runs` started, each with its last runs. */
  readonly children: readonly SessionTree[]
}

/** The storage verbs of a session tree, run in the root session's object. */
export type StorageRequest =
  | { readonly verb: 'get' | 'delete'; readonly space: string; readonly key: string }
  | {
      readonly verb: 'set'
      readonly space: string
      readonly key: string
      readonly value: Json
      readonly quotaBytes: number
      /** What does not fit displaces the oldest values, instead of being refused. */
      readonly evicts?: true
    }
  /** Sets it and answers `found: false`; `found: true`, and nothing is written, if this is what it has already. */
  | {
      readonly verb: 'claim'
      readonly space: string
      readonly key: string
      readonly value: string
    }
  | {
      readonly verb: 'list'
      readonly space: string
      readonly prefix: string
      readonly limit: number
    }
  | {
      readonly verb: 'append'
      readonly space: string
      readonly text: string
      readonly maxEntries: number
    }
  | { readonly verb: 'entries'; readonly space: string; readonly limit: number }
  | { readonly verb: 'clear'; readonly space: string }

/** Named values and short entries in spaces that do not see each other, within one Durable Object. */
export type Space = (request: StorageRequest) => StorageAnswer

/** `error` says why nothing was stored (quota, key, size), safe for a model. */
export interface StorageAnswer {
  readonly error?: string
  readonly value?: Json
  readonly found?: boolean
  readonly keys?: readonly string[]
  readonly entries?: readonly MemoryEntry[]
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
  }) => Promise<Reply<SessionAbout>>
  /** Sets its metadata, or adds to what was said before its first run (`request_conflict` if it has one). */
  readonly amend: (
    principal: string,
    change: { readonly metadata?: JsonObject; readonly messages?: readonly Message[] },
  ) => Promise<Reply<SessionAbout>>
  readonly about: (principal: string) => Promise<Reply<SessionAbout>>
  readonly submit: (session: string, submission: SubmitRequest) => Promise<Reply<SubmitReceipt>>
  /** Submits and waits for the final outcome. */
  readonly run: (session: string, submission: SubmitRequest) => Promise<Reply<RunOutcome>>
  /** Submits and streams from the run's first event, deltas included, to its terminal event. */
  readonly runStream: (
    session: string,
    submission: SubmitRequest,
  ) => Promise<
    Reply<{
      readonly receipt: SubmitReceipt
      /** Names this reader for `abandon`: an object notices only late that a stream is not read. */
      readonly reader: string
      readonly stream: ReadableStream<Uint8Array>
    }>
  >
  /** Whose session it is: for those who may see everybody's. */
  readonly owner: () => Promise<Reply<string>>
  readonly result: (principal: string, run: string) => Promise<Reply<RunView>>
  readonly recall: (principal: string, run: string) => Promise<Reply<RunMemo>>
  /** `recall` says so from now on; the transcript keeps the run, since others may go on from it. */
  readonly hide: (principal: string, run: string) => Promise<Reply<RunMemo>>
  /** Everything after `afterSeq`, then live; ends after the terminal event of `run` if one is named, else when nothing runs. */
  readonly events: (
    principal: string,
    options: { readonly afterSeq: number; readonly run?: string; readonly follow: boolean },
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
   * `request_conflict`. `by` is who decided, if not the session's own principal: the record says so.
   */
  readonly decide: (
    principal: string,
    run: string,
    call: string,
    decision: Decision,
    by?: string,
  ) => Promise<Reply<RunView>>
  /** A new run of the same task for one that was given up. For the operator; the same run joins the retry that is there. */
  readonly retry: (run: string) => Promise<Reply<SubmitReceipt>>
  /** Cancels whatever a parent's call started here, or will. */
  readonly cancelCall: (parentRun: string, call: string, reason: string) => Promise<void>
  /** The one outcome of what a call started elsewhere; may come twice. */
  readonly deliver: (delivery: Delivery) => Promise<Reply<null>>
  /** What a run has spent up to now; `unknown` if there is none. For the ledger above it. */
  readonly spentBy: (run: string) => Promise<RunSpending>
  readonly transcript: (
    principal: string,
    query?: TranscriptQuery,
  ) => Promise<Reply<TranscriptPage>>
  /** What was said as the client knows it, every branch in accept order. */
  readonly items: (principal: string, query: ItemsQuery) => Promise<Reply<ItemsPage>>
  readonly tree: (principal: string, query?: TreeQuery) => Promise<Reply<SessionTree>>
  readonly delete: (principal: string) => Promise<Reply<{ readonly deleted: true }>>
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
}

/** What became of a session that a call started: sent until it is acknowledged. */
export interface Delivery {
  readonly parentRun: string
  readonly call: string
  readonly agent: string
  readonly session: string
  readonly isBackground: boolean
  readonly onOutcome?: 'run'
  readonly result: ToolResult
}

export interface RunSpending {
  /** `parked` if it waits and nothing that waits with it may spend: it needs no reservation until it goes on. */
  readonly state: 'unknown' | 'open' | 'parked' | 'over'
  readonly usage: Usage
  /** Of a run that is `parked` or `over`: which step of it this is, for the day's ledger. */
  readonly step?: number
}

/** Reaches sessions by id, so that no room needs a Durable Object namespace. */
export interface SessionGateway {
  readonly at: (session: string) => SessionApi
  /** The id of the session a client named, or of the child of a call: always the same for the same parts. */
  readonly idFor: (kind: 'named' | 'child', parts: readonly string[]) => Promise<string>
}

/** Whose log it is. A name that is deleted and used again starts a new log: `sinceMs` tells them apart. */
export interface AuditOwner {
  readonly session: string
  readonly principal: string
  /** When the session was made, epoch milliseconds. */
  readonly sinceMs: number
}

/** A session as the list of sessions shows it. */
export interface SessionCard {
  readonly agent?: string
  /** Named: somebody may come back to it. */
  readonly kind: 'named' | 'stateless' | 'child'
  /** When its last run came in or ended, epoch milliseconds. */
  readonly usedAtMs: number
  readonly runs: number
  /** Of its last run. */
  readonly state?: RunState
}

/** A stretch of a session's log, and how the session stands. */
export interface AuditBatch {
  /** May be none: then it tells of the session alone. */
  readonly events: readonly SessionEvent[]
  readonly card: SessionCard
}

/** Where a session's log goes, and the list of sessions with it; batches may arrive twice and must then land once. */
export interface AuditSink {
  readonly append: (owner: AuditOwner, batch: AuditBatch) => Promise<void>
  /** The highest `seq` that landed, 0 if the session is listed without an event, -1 if it is not listed. */
  readonly watermark: (owner: AuditOwner) => Promise<number>
  /** Takes the session off the list; its events stay. Repeated, it changes nothing. */
  readonly unlist: (owner: AuditOwner) => Promise<void>
}

export type Emit = (event: EventDraft) => void

/** A session that is about to be forgotten, with everything in it. */
export interface EndedSession {
  readonly session: string
  readonly rootSession: string
  readonly principal: string
  /** Empty if nothing was ever said in it. */
  readonly agent: string
}
