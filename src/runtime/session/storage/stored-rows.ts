import type { FloorTicket } from '#contracts/floor.ts'
import type { Message } from '#contracts/message.ts'
import type { Submission, Lineage } from '../types/submission.ts'
import type { AddedText, PinnedAgent } from '#runtime/kernel/types/agent-pin.ts'
import { type Decider, type PauseAnswer, settles, type Pause } from '#runtime/kernel/types/pause.ts'
import type { TurnRecord, CallRecord } from '#runtime/kernel/types/journal.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Limits, Usage } from '#contracts/lease.ts'
import type { RunMemo, PauseView } from '../types/session-view.ts'
import type { AttemptSettlement } from '../types/session-api.ts'

/**
 * The parts that a run began with, as its row names them. Runs that begin with the same parts share the copy in the
 * first run's row, so that a run of an unchanged agent writes none.
 */
export interface RunPin {
  /** sha-256 of it as JSON. */
  readonly hash: string
  /** The place of the run that keeps it. */
  readonly at: number
  /**
   * Only in the row of the run that stores it. Removed once a newer pin exists and no unfinished run needs this one.
   */
  readonly agent?: PinnedAgent
  /** Places of runs that store an older copy, since an unfinished run may still need it. */
  readonly older?: readonly number[]
}

/** The parts that a run began with, in its row. */
interface BegunWith {
  /** Absent until the run's first write. */
  readonly pin?: RunPin
  /** The texts that hooks added to its first model call; absent if none. */
  readonly added?: readonly AddedText[]
  /** Memories for its agent. They come before the task. */
  readonly recalled?: Message
  /** The persona of its agent. Without a hash there was no persona of this name. */
  readonly persona?: { readonly name: string; readonly hash?: string }
  /** Its message goes to the handoff agent of its beginning, while that handoff lasts. */
  readonly passedOn?: PassedOn
  /** Tells its agent about the handoff that ended before it. Comes before the task. */
  readonly handedBack?: { readonly floor: string; readonly message: Message }
}

interface PassedOn extends FloorTicket {
  readonly holder: string
  /** The parameter of the handoff agent that takes the message. */
  readonly input: string
}

/** The messages at a run's beginning: memories, the end of a handoff, then the task. */
export const saidAtBeginning = ({
  recalled,
  handedBack,
  submission: { messages },
}: BegunWith & { readonly submission: Pick<Submission, 'messages'> }): readonly Message[] => {
  const before = [...(recalled ? [recalled] : []), ...(handedBack ? [handedBack.message] : [])]
  return before.length > 0 ? [...before, ...messages] : messages
}

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
interface ChangedLimits {
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

/** The pauses of a run, if it waits for all of them: no call of its open turn can go on. */
export function pausesOf(row: RunRow, last: TurnRecord | undefined): readonly Pause[] {
  if (!last || last.isDone || row.cancelReason !== undefined) return []
  const open = last.calls.filter(({ outcome }) => !outcome)
  if (last.pause && !isOver(last.pause, row)) {
    const waiting = open.filter((call) => isWaiting(call, row)).flatMap(({ pause }) => pause ?? [])
    return [last.pause, ...waiting]
  }
  return open.every((call) => isWaiting(call, row)) ? open.flatMap(({ pause }) => pause ?? []) : []
}

/** The pauses that can be decided now, also while another call of the turn runs after its answer. */
export function undecidedOf(row: RunRow, last: TurnRecord | undefined): readonly Pause[] {
  const waiting = pausesOf(row, last)
  if (waiting.length > 0 || !last || last.isDone || row.cancelReason !== undefined) return waiting
  const open = last.calls.filter((call) => !call.outcome && isWaiting(call, row))
  return open.flatMap(({ pause }) => (pause?.kind === 'approval' ? [pause] : []))
}

/** A hash of a text, as hex. */
export type Hash = (text: string) => string

export function toView(
  { changes: _ofLimits, limits: _inForce, ...pause }: Pause,
  pauseMs: number,
  sha256: Hash,
): PauseView {
  return {
    ...pause,
    ...(pause.expires && { expiresAtMs: pause.sinceMs + pauseMs }),
    ...(pause.asks && { asksHash: asksHashOf(pause, sha256) }),
  }
}

/** Identifies the questions of a pause: their keys alone may come again in other calls. */
export const asksHashOf = ({ call, asks }: Pause, sha256: Hash): string =>
  sha256(JSON.stringify({ call, asks }))

/** Whether the limit was raised far enough, or the pause was answered or has expired. */
function isOver(pause: Pause, { answers, changed }: RunRow): boolean {
  const { call, reached, changes = 0 } = pause
  if (answers?.[call]) return true
  if (!reached?.limit || !changed || changed.count <= changes) return false
  return (changed.limits[reached.limit] ?? 0) >= (reached.needed ?? 0)
}

const isWaiting = ({ id, pause }: CallRecord, { answers }: RunRow): boolean =>
  pause !== undefined && pause.kind !== 'budget' && !isAnswered(pause, answers?.[id])

/** An approval counts only for the arguments and the definition with which the call would run. */
function isAnswered(pause: Pause, answer: PauseAnswer | undefined): boolean {
  if (!answer || !settles(pause, answer)) return false
  if (pause.kind !== 'approval' || answer.kind !== 'approved') return true
  return answer.argsHash === pause.argsHash && answer.definitionHash === pause.definitionHash
}
