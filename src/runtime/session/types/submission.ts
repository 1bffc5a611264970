import type { RunState } from '#contracts/agent.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { BegunBy, Lineage } from './lineage.ts'
import type { Message } from '#contracts/message.ts'
import type { OwnLimits } from '#contracts/keys.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { ResponsePlace } from './said-item.ts'
import type { TraceLink } from '#contracts/trace.ts'

/**
 * Raised when a change of the messages between sessions would be misread by an older session. Unknown fields are
 * ignored.
 */
export const sessionProtocol = 1

/** One task for a session. Plain data: it crosses Durable Object RPC. */
export interface Submission extends RunOptions {
  /** Set on the first submission; later ones must name the same agent. */
  readonly agent: string
  readonly principal: string
  /**
   * Messages to append to the transcript; at least one, the last one not the agent's. A run that only compacts ignores
   * them.
   */
  readonly messages: readonly Message[]
  readonly trace: string
  /** The trace context of the request; absent if the trace begins here. */
  readonly traceLink?: TraceLink
  /** The same key and body join the existing run; another body is refused. */
  readonly idempotencyKey?: string
  readonly lineage?: Lineage
  readonly begunBy?: BegunBy
  /** The principal's own limits of a day, at the time of the request. */
  readonly dayLimits?: OwnLimits
  /** The persona of the request's key, for a request and a session that name none. */
  readonly keyPersona?: string
  /**
   * The place that the run goes on from; absent: after everything accepted before it. Two submissions with the same
   * place are two branches.
   */
  readonly after?: ResponsePlace
  /** The client named no session and cannot come back to it: it is kept for an hour only. */
  readonly isStateless?: boolean
  /**
   * Handed back by `recall`. To the session only `store` in it: with `false` no later request can name the response.
   */
  readonly echo?: JsonObject
}

/** A submission as a surface sends it. */
export interface SubmitRequest extends Omit<Submission, 'agent'> {
  /** Without it the session must exist, and its own agent works. */
  readonly agent?: string
  /** The caller names a session that it was given: a missing one is not created. */
  readonly mustExist?: boolean
  /** The agents that its principal may talk to: a session of another one looks absent. Absent: every agent. */
  readonly allowedAgents?: readonly string[]
  /**
   * The outputs that the run waits for: it goes on, with `messages` (possibly none) added. If it does not wait for them
   * any more, `request_conflict`, unless it was given the same outputs before: then the request joins it.
   */
  readonly answers?: ClientAnswers
  /** `sessionProtocol` of the sender; 1 if absent. A later one is refused with `request_conflict`. */
  readonly protocol?: number
}

/** The outputs of the client's own tools. */
export interface ClientAnswers {
  readonly run: string
  readonly outputs: readonly { readonly call: string; readonly output: Json }[]
}

export interface SubmitReceipt {
  readonly session: string
  readonly run: string
  /** True if the run already existed under this idempotency key. */
  readonly isJoined: boolean
  readonly state: RunState
  /** When it was accepted, epoch milliseconds: the same for every request that joins. */
  readonly createdAtMs: number
}

/** The receipt for a message to a running run. */
export interface SteerReceipt {
  readonly session: string
  readonly run: string
  /** Place among the messages this run was given, from 1: the same for a repeated request. */
  readonly place: number
}
