import type { RunState } from '#contracts/agent.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { BegunBy, Lineage } from './lineage.ts'
import type { Message } from '#contracts/message.ts'
import type { OwnLimits } from '#contracts/own-limits.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { ResponsePlace } from './said-item.ts'
import type { TraceLink } from '#contracts/trace.ts'

/** Counts up when what sessions say to each other changes so that an older one would misread it. Unknown fields are ignored. */
export const sessionProtocol = 1

/** One task for a session. Plain data: it crosses Durable Object RPC. */
export interface Submission extends RunOptions {
  /** Set on the first submission; later ones must name the same agent. */
  readonly agent: string
  readonly principal: string
  /** Messages to append to the transcript; at least one, the last one not the agent's. Whatever they are for a run that only compacts. */
  readonly messages: readonly Message[]
  readonly trace: string
  /** What came in with the trace; absent if it begins here. */
  readonly traceLink?: TraceLink
  /** The same key and body join the run that is there; another body is refused. */
  readonly idempotencyKey?: string
  readonly lineage?: Lineage
  readonly begunBy?: BegunBy
  /** The principal's own limits of a day, as they were when it asked. */
  readonly dayLimits?: OwnLimits
  /** The persona of the key that it was asked with: where neither the request nor the session names one. */
  readonly keyPersona?: string
  /** What it goes on from; absent: everything that was accepted before it. Two that name the same place are two branches. */
  readonly after?: ResponsePlace
  /** Nobody named the session, and nobody will come back to it: it is kept for an hour only. */
  readonly isStateless?: boolean
  /** Handed back by `recall`. To the session only `store` in it: with `false` nobody can name the response later. */
  readonly echo?: JsonObject
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

/** What the client's own tools returned. */
export interface ClientAnswers {
  readonly run: string
  readonly outputs: readonly { readonly call: string; readonly output: Json }[]
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
