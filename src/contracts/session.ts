import type { AgentResult, RunState } from './agent.ts'
import type { EventDraft, SessionEvent } from './event.ts'
import type { Json } from './json.ts'
import type { Limits, Usage } from './lease.ts'
import type { MemoryEntry } from './memory.ts'
import type { Message } from './message.ts'
import type { ModelParameters } from './model.ts'

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
}

/** One task for a session. Plain data: it crosses Durable Object RPC. */
export interface Submission {
  /** Set on the first submission; later ones must name the same agent. */
  readonly agent: string
  readonly principal: string
  /** Messages to append to the transcript; at least one, the last one from the user. */
  readonly messages: readonly Message[]
  /** A client's own system or developer message, added after ours, labelled. */
  readonly clientInstructions?: string
  readonly model?: string
  readonly parameters?: ModelParameters
  readonly trace: string
  /** The same key and body join the run that is there; another body is refused. */
  readonly idempotencyKey?: string
  readonly lineage?: Lineage
}

/** A submission as a surface sends it. */
export interface SubmitRequest extends Omit<Submission, 'agent'> {
  /** Without it the session must be there, and its own agent works. */
  readonly agent?: string
  /** The caller names a session that it was given: an absent one is not made. */
  readonly mustExist?: boolean
}

export interface SubmitReceipt {
  readonly session: string
  readonly run: string
  /** True if the run was there already under this idempotency key. */
  readonly isJoined: boolean
  readonly state: RunState
}

export interface RunView {
  readonly id: string
  readonly session: string
  readonly agent: string
  readonly state: RunState
  readonly createdAtMs: number
  readonly result?: AgentResult
}

/** A session with what hangs below it, usage and cost per agent. */
export interface SessionTree {
  readonly id: string
  readonly agent: string
  readonly principal: string
  readonly createdAtMs: number
  readonly trace?: string
  readonly parent?: { readonly session: string; readonly run: string; readonly call: string }
  readonly runs: readonly RunView[]
  /** This session's runs with everything below them. */
  readonly usage: Usage
  readonly costEstimateUsd: number
  readonly children: readonly SessionTree[]
}

/** What the Durable Object answers: faults that are expected are values, since classes do not survive RPC. */
export type Reply<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false
      readonly error: { readonly code: string; readonly message: string; readonly param?: string }
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
    readonly agent: string
    readonly principal: string
    readonly session: string
  }) => Promise<Reply<SessionTree>>
  readonly submit: (session: string, submission: SubmitRequest) => Promise<Reply<SubmitReceipt>>
  /** Submits and waits for the final outcome. */
  readonly run: (session: string, submission: SubmitRequest) => Promise<Reply<AgentResult>>
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
  readonly result: (principal: string, run: string) => Promise<Reply<RunView>>
  /** Everything after `afterSeq`, then live; ends after the terminal event of `run` if one is named, else when nothing runs. */
  readonly events: (
    principal: string,
    options: { readonly afterSeq: number; readonly run?: string; readonly follow: boolean },
  ) => Promise<Reply<ReadableStream<Uint8Array>>>
  readonly cancel: (principal: string, run: string, reason: string) => Promise<Reply<RunView>>
  /** Cancels a run that nobody but `reader`, who has gone, follows or waits for. */
  readonly abandon: (principal: string, run: string, reader: string) => Promise<Reply<RunView>>
  /** Cancels whatever a parent's call started here. */
  readonly cancelCall: (parentRun: string, call: string, reason: string) => Promise<void>
  readonly transcript: (principal: string) => Promise<Reply<readonly Message[]>>
  readonly tree: (principal: string) => Promise<Reply<SessionTree>>
  readonly delete: (principal: string) => Promise<Reply<{ readonly deleted: true }>>
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
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

/** Where a session's log goes; batches may arrive twice and must then land once. */
export interface AuditSink {
  readonly append: (owner: AuditOwner, events: readonly SessionEvent[]) => Promise<void>
  /** The highest `seq` that landed; 0 if none. */
  readonly watermark: (owner: AuditOwner) => Promise<number>
}

export type Emit = (event: EventDraft) => void
