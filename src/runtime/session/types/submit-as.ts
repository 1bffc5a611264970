import type { CompactionOutcome } from './compaction-outcome.ts'
import type { Lineage } from './lineage.ts'
import type { Principal } from '#contracts/operations.ts'
import type { Reply } from '#contracts/reply.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { RunOutcome } from './run-view.ts'
import type { StartedStream } from './session-api.ts'
import type { SubmitReceipt, SubmitRequest } from './submission.ts'

/** The caller: its principal, its key or sign-in, the limits of its day, and the agents that it may talk to. */
export type Asker = Pick<Principal, 'id' | 'key' | 'grant' | 'limits' | 'agents' | 'persona'>

type SaidOtherwise =
  | 'principal'
  | 'key'
  | 'grant'
  | 'dayLimits'
  | 'keyPersona'
  | 'allowedAgents'
  | 'protocol'
  | 'idempotencyKey'
  | 'lineage'
  | 'begunBy'
  | 'origin'

/** A task for a session, as every surface and schedule writes it. Plain data. */
export interface Ask extends Omit<SubmitRequest, SaidOtherwise | 'trace'> {
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
  readonly submit: () => Promise<Reply<SubmitReceipt>>
  /** Waits for the outcome. */
  readonly run: () => Promise<Reply<RunOutcome>>
  /** Streams the run. */
  readonly runStream: () => Promise<Reply<StartedStream>>
  readonly compact: () => Promise<Reply<CompactionOutcome>>
}

/**
 * Sends a task to a session in a principal's name: the one path for surfaces, schedules and calls of an agent. Needs no
 * request. The caller has checked that the principal may do this.
 */
export type SubmitAs = (principal: Asker, ask: Ask, by: AskedFrom | AskedByCall) => Submitted
