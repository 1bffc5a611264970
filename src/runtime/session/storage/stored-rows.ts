import type { Decider } from '#runtime/kernel/types/approval.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Limits, Usage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { PauseAnswer } from '#runtime/kernel/types/pause.ts'
import type { Lineage } from '../types/lineage.ts'
import type { RunMemo } from '../types/run-view.ts'
import type { Submission } from '../types/submission.ts'
import type { AttemptSettlement } from '../types/unconfirmed.ts'
import type { BegunWith } from './begun-with.ts'

/** What a client said between two runs. */
export interface Addition {
  /** The place of the run behind which it stands. */
  readonly behind: number
  readonly messages: readonly Message[]
}

/** What identifies a session; its first row. */
export interface SessionRow {
  readonly id: string
  /** Absent until the first run says which, where a conversation was made before it. */
  readonly agent?: string
  readonly principal: string
  readonly createdAtMs: number
  /** What was said before its first run. */
  readonly preamble?: readonly Message[]
  /** What its client said between two runs, in the order in which it came. */
  readonly additions?: readonly Addition[]
  readonly metadata?: JsonObject
  /** Nobody named it. */
  readonly isStateless?: boolean
  /** It is kept for so long from its beginning, whatever its kind. */
  readonly keepMs?: number
  readonly lineage?: Lineage
  /** It was deleted, and its rows are being removed: it looks absent. */
  readonly isDeleted?: true
  /** It is being taken off the list of sessions: should its object end meanwhile, it deletes itself. */
  readonly isLeaving?: true
  /** Somebody has the conversation, or had it. */
  readonly hasFloor?: true
  /** What all its runs together may spend. */
  readonly limits?: Partial<Limits>
  /** As it was made with: the same key names a session with the same one. */
  readonly persona?: string
  /** What it was changed to since; `null`: none. */
  readonly personaSince?: string | null
}

/** Something that came in for a run after it was accepted. */
export interface InboxItem {
  /** The same id twice is one item. */
  readonly id: string
  readonly message: Message
  /** Set if it is what came of this run's own call, started in the background, and what that spent. */
  readonly call?: string
  readonly usage?: Usage
  /** It begins a run, whose message it is; absent again if that run was refused. */
  readonly begins?: true
}

/** Limits that take the place of what agent, request and session allow a run. */
export interface ChangedLimits {
  readonly limits: Partial<Limits>
  /** How often they were changed. */
  readonly count: number
  /** What an operator has allowed: also what the day does not have. */
  readonly byOperator?: Partial<Limits>
}

/** A run as it was accepted. Its turns and its end are rows of their own. */
export interface RunRow extends BegunWith {
  readonly id: string
  /** Accept order within the session, from 1. */
  readonly order: number
  readonly submission: Submission
  readonly bodyHash: string
  readonly createdAtMs: number
  /** Place of `run_started` in the log; absent while queued. */
  readonly startSeq?: number
  readonly startedAtMs?: number
  readonly cancelReason?: string
  readonly inbox?: readonly InboxItem[]
  /** What calls that waited when the run ended took after all, by call id: they were booked with all they held. */
  readonly settledLate?: Readonly<Record<string, Usage>>
  /** What became of failed attempts that may have reached a provider, its own and those below it, by their id. */
  readonly confirmed?: Readonly<Record<string, AttemptSettlement>>
  /** What was decided about its waiting calls, by call id. */
  readonly answers?: Readonly<Record<string, PauseAnswer>>
  /** What somebody outside said about a call, as a hash: the same again is no news, whatever has become of the run. */
  readonly decided?: Readonly<Record<string, string>>
  /** Who decided about a call that waited for a yes, and when, by call id. */
  readonly deciders?: Readonly<Record<string, Decider & { readonly atMs: number }>>
  /** What somebody has made of its limits since it was accepted. */
  readonly changed?: ChangedLimits
  /** What its agent may spend less by now than when it was begun, as far as it has met that. */
  readonly lowered?: Partial<Limits>
  /** `echo` of the requests with which its client answered, by the turn that waited for them. */
  readonly echoes?: RunMemo['echoes']
  readonly isHidden?: boolean
  /** The turn that was open at the last wake, and how often a wake found it open. */
  readonly wakeTurn: number
  readonly wakes: number
}

/** One row of the log: a run that started, or a turn of it. */
export type LogRow =
  | { readonly kind: 'run'; readonly run: RunRow }
  | { readonly kind: 'turn'; readonly turn: TurnRecord }
