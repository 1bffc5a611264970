import type { Decider, PauseAnswer } from '#runtime/kernel/types/pause.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Limits, Usage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { Lineage } from '../types/lineage.ts'
import type { RunMemo } from '../types/run-view.ts'
import type { Submission } from '../types/submission.ts'
import type { AttemptSettlement } from '../types/unconfirmed.ts'
import type { BegunWith } from './begun-with.ts'

/** Messages that a client added between two runs. */
export interface Addition {
  /** The place of the run before them. */
  readonly behind: number
  readonly messages: readonly Message[]
}

/** The first row of a session: its identity. */
export interface SessionRow {
  readonly id: string
  /** Absent until the first run names it, if the conversation was created before. */
  readonly agent?: string
  readonly principal: string
  readonly createdAtMs: number
  /** The messages before its first run. */
  readonly preamble?: readonly Message[]
  /** Messages that the client added between two runs, in order of arrival. */
  readonly additions?: readonly Addition[]
  readonly metadata?: JsonObject
  /** The client gave the session no id. */
  readonly isStateless?: boolean
  /** How long the session is kept from its beginning, whatever its kind. */
  readonly keepMs?: number
  readonly lineage?: Lineage
  /** It was deleted, and its rows are being removed: it looks absent. */
  readonly isDeleted?: true
  /** It is being taken off the list of sessions: should its object end meanwhile, it deletes itself. */
  readonly isLeaving?: true
  /** A handoff is in force, or was. */
  readonly hasFloor?: true
  /** The limits of all its runs together. */
  readonly limits?: Partial<Limits>
  /** The persona at creation: a repeated request with the same key must name the same one. */
  readonly persona?: string
  /** The persona set later; `null`: none. */
  readonly personaSince?: string | null
}

/** Something that came in for a run after it was accepted. */
export interface InboxItem {
  /** The same id twice is one item. */
  readonly id: string
  readonly message: Message
  /** Set if the message is the result of a background call of this run. */
  readonly call?: string
  readonly usage?: Usage
  /** The message begins a run. Absent again if that run was refused. */
  readonly begins?: true
}

/** Limits that take the place of what agent, request and session allow a run. */
export interface ChangedLimits {
  readonly limits: Partial<Limits>
  /** How often they were changed. */
  readonly count: number
  /** The part that an operator allowed, beyond the principal's day. */
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
  /**
   * The real usage, by call id, of calls that waited when the run ended: the run was billed their whole reservation.
   */
  readonly settledLate?: Readonly<Record<string, Usage>>
  /**
   * Settlements of failed attempts that may have reached a provider, by attempt id, of this run and of runs below it.
   */
  readonly confirmed?: Readonly<Record<string, AttemptSettlement>>
  /** The decisions about its waiting calls, by call id. */
  readonly answers?: Readonly<Record<string, PauseAnswer>>
  /**
   * Hashes of the answers from clients and approvers: the same answer again is accepted without effect, whatever the
   * run's state.
   */
  readonly decided?: Readonly<Record<string, string>>
  /** Who approved or denied a waiting call, and when, by call id. */
  readonly deciders?: Readonly<Record<string, Decider & { readonly atMs: number }>>
  /** Changes of its limits since it was accepted. */
  readonly changed?: ChangedLimits
  /** Lower limits of its agent since the run began, as far as the run has met them. */
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
