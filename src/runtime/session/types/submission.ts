import type { RunState } from '#contracts/agent.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import type { OwnLimits } from '#contracts/keys.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { ModelParameters } from '#contracts/model.ts'
import type { ToolResult } from '#contracts/tool.ts'
import type { Limits, Usage } from '#contracts/lease.ts'
import type { SharedFrom } from '#contracts/manifest/agent-manifest.ts'
import type { RequestTrace } from '#contracts/trace.ts'

/** The parameters for later calls of a run: a forced tool applies to the first call only. */
export function afterFirstCall(parameters: ModelParameters): ModelParameters {
  const { toolChoice: _first, ...rest } = parameters
  return rest
}

/** The outcome of a direct call, as the run's `output`: of a failed call only what a model would read. */
export type DirectOutcome =
  | { readonly ok: true; readonly call: string; readonly output: Json }
  | { readonly ok: false; readonly call: string; readonly code: string; readonly message: string }

/** A tool's result as the outcome of a run that is one call. */
export const toDirectOutcome = (call: string, result: ToolResult): DirectOutcome & JsonObject =>
  result.ok
    ? { ok: true, call, output: result.output }
    : { ok: false, call, code: result.error.code, message: result.error.message }

/** The rules of one option: in comparing requests, and in beginning runs below. */
interface RunOptionRule<Value> {
  /** Part of the body that an idempotency key stands for: a retry with another value is a different request. */
  readonly isHashed: boolean
  /** The value for a run that a tool begins below; `undefined` passes nothing on. */
  readonly inherit: (value: Value | undefined) => Value | undefined
}

const nothing = () => undefined

const whole = <Value>(value: Value): Value => value

const own = { isHashed: true, inherit: nothing } as const

/** Every option has a line: a new one does not compile without. */
export const runOptionFields: {
  readonly [Name in keyof Required<RunOptions>]: RunOptionRule<RunOptions[Name]>
} = {
  model: own,
  parameters: own,
  clientInstructions: own,
  // The persona speaks to the user. A child is read by its caller, so it has none.
  persona: own,
  limits: own,
  // How long a surface can wait is no part of the task. A child has no client with tools.
  pauses: { isHashed: false, inherit: (pauses) => (pauses === 'park' ? 'park' : 'refuse') },
  // A child's limits come from its parent, so only the parent can ask for more.
  mayRaise: { isHashed: false, inherit: nothing },
  requireApproval: { isHashed: true, inherit: whole },
  clientTools: own,
  // It does not change the answer.
  bringsAll: { isHashed: false, inherit: nothing },
  mayAsk: own,
  directCall: own,
  compact: own,
  isNote: own,
  // Runs below count as deep in the chain: otherwise a sub-agent would reset the count and a loop could go on for ever.
  chain: { isHashed: true, inherit: whole },
  mayHandOff: { isHashed: false, inherit: nothing },
  // The caller sets it anew with each message.
  holds: { isHashed: false, inherit: nothing },
  onDemand: own,
  // A retry may arrive by another surface. Runs below have the origin of the first one.
  origin: { isHashed: false, inherit: whole },
  // A retry may come with another key of the principal. Runs below end with the same key.
  key: { isHashed: false, inherit: whole },
  grant: { isHashed: false, inherit: whole },
}

const names = Object.keys(runOptionFields) as (keyof RunOptions)[]

const given = (entries: readonly (readonly [string, unknown])[]): RunOptions =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined))

/** The options in something that has them among other fields. */
export const toRunOptions = (from: RunOptions): RunOptions =>
  given(names.map((name) => [name, from[name]]))

/** The run's origin, for the record. */
export const toEntry = ({ origin }: RunOptions): Pick<RunOptions, 'origin'> =>
  given([['origin', origin]])

function inherited<Name extends keyof RunOptions>(name: Name, options: RunOptions) {
  const { inherit }: RunOptionRule<RunOptions[Name]> = runOptionFields[name]
  return inherit(options[name])
}

/** The options that a run below inherits. */
export const toInherited = (options: RunOptions): RunOptions =>
  given(names.map((name) => [name, inherited(name, options)]))

/** The place of a sub-agent's session in its tree. */
export interface Lineage {
  readonly rootSession: string
  readonly parentSession: string
  readonly parentRun: string
  readonly parentCall: string
  readonly depth: number
  /** The parts that its session shares with the sessions above it. */
  readonly shared: SharedFrom
  /** Agents above this one, root first. */
  readonly ancestry: readonly string[]
  /** This run's lease, out of the parent's. */
  readonly lease: Limits
  /** The parent does not wait: the outcome is delivered to it. */
  readonly isBackground?: boolean
  /** The outcome begins a run of the parent's session; otherwise the parent's next run reads it. */
  readonly onOutcome?: 'run'
}

/** The background outcome that began a run in place of a request. */
export interface BegunBy {
  /** The run of the parent's session that started the background work. */
  readonly run: string
  readonly call: string
  /** The session that did the work. */
  readonly session: string
  /** The length of the chain of outcomes, each beginning a run; this one included. */
  readonly depth: number
}

/** The outcome of a session that a call started: sent until it is acknowledged. */
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
  /** `parked` if the run waits and none of its waiting calls may spend: it needs no reservation until it goes on. */
  readonly state: 'unknown' | 'open' | 'parked' | 'over'
  readonly usage: Usage
  /** Of a run that is `parked` or `over`: its step, for the day's ledger. */
  readonly step?: number
}

/** The run that works on a piece of the day which is called back; empty if none does: the session no longer holds it. */
export interface PieceAnswer {
  readonly run?: string
  readonly spending?: RunSpending
}

/**
 * Raised when a change of the messages between sessions would be misread by an older session. Unknown fields are
 * ignored.
 */
export const sessionProtocol = 1
/** A submission with a claim: a session that would not check it must refuse it. */
export const claimProtocol = 2

/**
 * A stretch of a run that a client got as one response: it begins after a turn (0: with the run) and ends where the
 * run waits for the client, or is over.
 */
export interface ResponsePlace {
  readonly run: string
  readonly turn: number
}

/** One task for a session. Plain data: it crosses Durable Object RPC. */
export interface Submission extends RunOptions, RequestTrace {
  /** Set on the first submission; later ones must name the same agent. */
  readonly agent: string
  readonly principal: string
  /**
   * Messages to append to the transcript; at least one, the last one not the agent's. A run that only compacts ignores
   * them.
   */
  readonly messages: readonly Message[]
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
  /**
   * What the sender remembers of the key and has not asked for. Before any effect, and before it answers, the session
   * asks whether all of it still holds; if not, it refuses with `request_unauthenticated` and nothing is stored.
   */
  readonly claim?: string
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
