import type { CompactionOutcome } from './compaction-outcome.ts'
import type { Lineage } from './lineage.ts'
import type { Principal } from '#contracts/operations.ts'
import type { Reply } from '#contracts/reply.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { RunOutcome } from './run-view.ts'
import type { StartedStream } from './session-api.ts'
import type { SubmitReceipt, SubmitRequest } from './submission.ts'

/** Who asks: whose work it is, by which key or sign-in, what its day has, and which agents it may talk to. */
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

/** What a session is asked to work on. Plain data, whoever asks and however it came in. */
export interface Ask extends Omit<SubmitRequest, SaidOtherwise | 'trace'> {
  readonly session: string
  /** W3C trace id that it belongs to; one of its own if absent. */
  readonly trace?: string
}

/** How it came in: from a client, a schedule, another machine. */
export interface AskedFrom {
  /** Idempotency key, 1 to 255 characters: the same key and body join the run that is there. */
  readonly key?: string | undefined
  /** The surface: `chat`, `responses`, `api`, `mcp`; of a plugin's with its id behind a colon. For the record alone. */
  readonly origin: string
}

/** Or from a call of a run: its options and the origin are handed down as their lines in `runOptionFields` say. */
export interface AskedByCall {
  /** The call's id. */
  readonly key: string
  readonly above: { readonly options: RunOptions; readonly lineage: Lineage }
}

/**
 * A submission that is ready: each of these sends it, and says by that who waits. Faults that are expected are values,
 * as of `SessionApi`; sent a second time it joins its own run only with a key.
 */
export interface Submitted {
  readonly session: string
  /** Its W3C trace id, for whoever tells it further. */
  readonly trace: string
  /** Nobody waits: it is accepted. */
  readonly submit: () => Promise<Reply<SubmitReceipt>>
  /** The outcome is waited for. */
  readonly run: () => Promise<Reply<RunOutcome>>
  /** It is read as it goes. */
  readonly runStream: () => Promise<Reply<StartedStream>>
  readonly compact: () => Promise<Reply<CompactionOutcome>>
}

/**
 * Has a session work on something in somebody's name: what every surface, schedule and call of an agent goes through.
 * Needs no request; whether the principal may ask this is settled by whoever calls it.
 */
export type SubmitAs = (principal: Asker, ask: Ask, by: AskedFrom | AskedByCall) => Submitted
