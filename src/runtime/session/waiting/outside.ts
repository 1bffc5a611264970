import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { scopeOf, type ApprovalRule } from '../types/approval.ts'
import type { Decider, Decision, PauseAnswer } from '#runtime/kernel/types/pause.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { joinLabels } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'
import type { Delivery, ClientAnswers, SubmitRequest } from '../types/submission.ts'
import type { ToolResult } from '#contracts/tool.ts'
import {
  decidedAlready,
  ownerOf,
  isAnothers,
  digestible,
  refuseUnlessMay,
  tooLate,
} from './approvals.ts'
import { beginsRun } from './outcome-runs.ts'
import { conflict, expiredOf, outcome, toAnswer } from './pauses.ts'
import { pausesOf, undecidedOf, type InboxItem, type RunRow } from '../storage/stored-rows.ts'
import { otherBody, noSuchRun } from '../storage/refusals.ts'
import type { Runs } from '../runs/runs.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Transcript } from '../log/transcript.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import { unanswered } from '../responses/response-places.ts'

const maxInbox = 64
const maxInboxBytes = 500_000
/** The outcomes of a run's background calls have so many characters together; each has at least a few. */
const maxOutcomeChars = 1_200_000
const minOutcomeChars = 2_000

export interface OutsideParts {
  readonly store: SessionStore
  readonly runs: Runs
  readonly transcript: Transcript
}

/**
 * Adds a message to an unfinished run. @returns Its place in the inbox; throws `request_conflict`,
 * `request_too_large`, `request_queue_full` or `request_idempotency_mismatch`.
 */
export function steerRun(
  row: RunRow,
  { id, message }: Pick<InboxItem, 'id' | 'message'>,
  { store, runs }: OutsideParts,
): number {
  const { inbox = [] } = row
  const at = inbox.findIndex((item) => item.id === id)
  if (at >= 0) {
    if (JSON.stringify(inbox[at]!.message) === JSON.stringify(message)) return at + 1
    throw otherBody()
  }
  if (store.final(row.order) || row.cancelReason !== undefined) {
    throw new IsolaError('request_conflict', 'The run is over: start another one.')
  }
  if (row.submission.compact)
    throw conflict('This run compacts and answers nothing: start another one.')
  // Outcomes of background calls have limits of their own.
  const said = inbox.filter(({ call }) => call === undefined)
  if (said.length >= maxInbox) {
    const text = `A run takes at most ${maxInbox} messages on its way.`
    throw new IsolaError('request_queue_full', text, { retryAfterMs: 10_000 })
  }
  const size = new TextEncoder().encode(JSON.stringify([said, message])).byteLength
  if (size > maxInboxBytes) {
    const text = `The messages that a run is given on its way may have ${maxInboxBytes} bytes together.`
    throw new IsolaError('request_too_large', text, { param: 'message' })
  }
  runs.change(row, { inbox: [...inbox, { id, message }] })
  return inbox.length + 1
}

interface DecideOptions {
  readonly decisions: readonly {
    readonly call: string
    readonly decision: Decision
    /** The rule that the approval makes for later calls. */
    readonly rule?: ApprovalRule | undefined
  }[]
  readonly nowMs: number
  readonly pauseMs: number
  readonly sha256: (text: string) => string
  /** The owner of the session if absent. */
  readonly decider?: Decider
}

/** Takes decisions about waiting calls. The run goes on when no call waits any more. */
export function decideCalls(row: RunRow, options: DecideOptions, parts: OutsideParts): void {
  if (takeDecisions(row, options, parts)) parts.runs.wake(row.id)
}

/**
 * Writes decisions about waiting calls without waking the run: all of them, or none.
 *
 * @returns Whether any of them is new.
 */
export function takeDecisions(row: RunRow, options: DecideOptions, parts: OutsideParts): boolean {
  const { decisions, nowMs, pauseMs, sha256 } = options
  const { decider = ownerOf(row.submission.principal) } = options
  const { store, runs } = parts
  const by = decider.principal === row.submission.principal ? undefined : decider.principal
  const turns = store.turns(row.order)
  const waiting = undecidedOf(row, turns.at(-1))
  const answers: Record<string, PauseAnswer> = {}
  const decided: Record<string, string> = {}
  const deciders: Record<string, NonNullable<RunRow['deciders']>[string]> = {}
  for (const { call, decision, rule } of decisions) {
    const pause = waiting.find((one) => one.call === call)
    const digest = sha256(JSON.stringify(digestible(decision)))
    const before = row.decided?.[call] ?? decided[call]
    if (pause && decided[call] === undefined) {
      if (pause.expires && pause.sinceMs + pauseMs <= nowMs) {
        throw conflict('It is too late to decide this call.')
      }
      refuseUnlessMay(pause, decision, { decider, owner: row.submission.principal })
      if (by !== undefined) checkShown(decision)
      const answer = toAnswer(decision, pause, { before: row.answers?.[call], sha256 })
      const isOfApproval = pause.kind === 'approval' && { decidedBy: decider }
      const reach = isOfApproval && decision.decision === 'approve' && reachOf(rule)
      answers[call] = { ...answer, ...defined({ by }), ...isOfApproval, ...reach }
      decided[call] = digest
      if (isOfApproval) deciders[call] = { ...decider, atMs: nowMs }
    } else if (before !== digest || isAnothers(row.deciders?.[call], decider)) {
      if (before !== undefined)
        throw decidedAlready(before, { who: row.deciders?.[call], isSame: before === digest })
      if (store.final(row.order)) throw conflict('The run is over: there is nothing to decide.')
      const message = 'This run has no such call waiting.'
      throw new IsolaError('request_not_found', message, { param: 'call' })
    }
  }
  if (Object.keys(decided).length === 0) return false
  runs.change(row, {
    answers: withAnswers(row, turns, answers),
    decided: { ...row.decided, ...decided },
    ...(Object.keys(deciders).length > 0 && { deciders: { ...row.deciders, ...deciders } }),
  })
  return true
}

const reachOf = (rule: ApprovalRule | undefined): Pick<PauseAnswer, 'scope' | 'rule'> =>
  rule ? { scope: scopeOf(rule), rule: rule.id } : { scope: 'once' }

/** An operator approves a call of another principal's session by the hash of the arguments that the record shows. */
function checkShown(decision: Decision): void {
  if (decision.decision !== 'approve' || decision.argsHash !== undefined) return
  throw conflict('The arguments were not shown yet: read the run, and approve them by argsHash.')
}

/** Drops answers that their turn's row has already: they may be large. */
function withAnswers(
  { answers = {} }: RunRow,
  turns: readonly TurnRecord[],
  more: NonNullable<RunRow['answers']>,
): NonNullable<RunRow['answers']> {
  const over = new Set(
    turns.flatMap(({ calls }) => calls.flatMap(({ id, outcome: done }) => (done ? [id] : []))),
  )
  const open = Object.entries(answers).filter(([call]) => !over.has(call))
  return { ...Object.fromEntries(open), ...more }
}

/**
 * Takes the outcome of a child session. It answers a call that waits for it. The outcome of a background call is a
 * message to the run that made the call, to a run that the outcome begins, or to the next run of the session. For a
 * run that is over (`late`) it only corrects the spending. The caller wakes the run, or begins the new one.
 */
export function takeDelivery(
  delivery: Delivery,
  { store, runs, transcript }: OutsideParts,
): 'taken' | 'late' | 'known' {
  const { parentRun, call, session, isBackground } = delivery
  // A failure has no label, and it quotes the other agent.
  const result = { ...delivery.result, label: joinLabels([delivery.result.label]) }
  const row = store.findRun(parentRun)
  if (!row) throw noSuchRun()
  if (!isBackground) {
    if (row.answers?.[call]?.kind === 'outcome') return 'known'
    if (store.final(row.order)) {
      if (!result.usage || row.settledLate?.[call]) return 'known'
      runs.change(row, { settledLate: { ...row.settledLate, [call]: result.usage } })
      return 'late'
    }
    const answers = withAnswers(row, store.turns(row.order), { [call]: outcome(result) })
    runs.change(row, { answers })
    return 'taken'
  }
  const { inbox = [] } = row
  if (inbox.some((item) => item.call === call)) return 'known'
  const message = shortened(toMessage({ ...delivery, result }), inbox, session)
  const { usage } = result
  const begins = beginsRun(row, delivery, store) && { begins: true as const }
  const item: InboxItem = { id: call, call, message, ...defined({ usage }), ...begins }
  runs.change(row, { inbox: [...inbox, item] })
  if (begins) store.pending.add(row.id, call)
  transcript.forget()
  return 'taken'
}

function toMessage(from: Delivery): UserMessage {
  const { agent, session, result } = from
  const text = `The agent ${agent}, started in the background (session ${session}), ${describe(result)}`
  return { role: 'user', text, taint: [`tool:${agent}__run`], label: result.label }
}

/** The inbox is part of the run's row: after many long outcomes the later ones are cut short. */
function shortened(message: UserMessage, inbox: readonly InboxItem[], session: string): Message {
  const before = inbox.reduce((sum, item) => sum + textOf(item.message).length, 0)
  const { text } = message
  const room = Math.max(minOutcomeChars, maxOutcomeChars - before)
  if (text.length <= room) return message
  const why =
    `[cut: ${text.length} characters, and the run has had ` +
    `${before} of other work. The session ${session} has all of it]`
  return { ...message, text: `${headOf(text, room)} ${why}` }
}

type UserMessage = Extract<Message, { readonly role: 'user' }>
const textOf = (message: Message): string => (message.role === 'user' ? message.text : '')

function describe(result: ToolResult): string {
  if (!result.ok) return `did not complete: ${result.error.message}`
  const { output } = result
  return `has finished. Its result:\n${typeof output === 'string' ? output : JSON.stringify(output)}`
}

/** Answers every pause that has expired. @returns When the next pause expires, if any. */
export function expirePauses(
  { store, runs }: OutsideParts,
  { nowMs, pauseMs }: { readonly nowMs: number; readonly pauseMs: number },
): number | undefined {
  const next: number[] = []
  for (const row of store.unfinishedRuns()) {
    const turns = store.turns(row.order)
    const pauses = pausesOf(row, turns.at(-1))
    const expired = expiredOf(pauses, nowMs, pauseMs)
    if (Object.keys(expired).length > 0) {
      const decided = Object.fromEntries(Object.keys(expired).map((call) => [call, tooLate]))
      const answers = withAnswers(row, turns, expired)
      runs.change(row, { answers, decided: { ...row.decided, ...decided } })
      runs.wake(row.id)
    }
    for (const { call, expires, sinceMs } of pauses) {
      if (expires && !(call in expired)) next.push(sinceMs + pauseMs)
    }
  }
  return next.length > 0 ? Math.min(...next) : undefined
}

export interface AnswerRequest {
  readonly request: SubmitRequest
  readonly answers: ClientAnswers
}

/**
 * Gives a run the results of its client's tools, all or none, and lets it go on.
 *
 * @returns Whether the run had them before. Throws `request_not_found`, `request_invalid` (an output is missing) or
 * `request_conflict` (the run does not wait for them).
 */
export function answerRun(
  { request, answers }: AnswerRequest,
  { runtime, ...parts }: OutsideParts & { readonly runtime: SessionRuntime },
): boolean {
  const { store, runs } = parts
  const { run, outputs } = answers
  const find = (): RunRow => {
    const row = store.findRun(run)
    if (row && !row.isHidden) return row
    throw noSuchRun()
  }
  const row = find()
  const turns = store.turns(row.order)
  const waiting = pausesOf(row, turns.at(-1)).filter(({ kind }) => kind === 'client_tool')
  const given = new Set(outputs.map(({ call }) => call))
  const isWaiting = waiting.some(({ call }) => given.has(call))
  const missing = waiting.find(({ call }) => !given.has(call))
  if (isWaiting && missing) throw unanswered(run, missing.call)
  if (isWaiting && outputs.some(({ call }) => !waiting.some((pause) => pause.call === call))) {
    throw conflict('The run does not wait for these outputs.')
  }
  const decisions = outputs.map(({ call, output }) => {
    return { call, decision: { decision: 'result', output } } as const
  })
  const { clock, timing, sha256 } = runtime
  const now = { nowMs: clock.nowMs(), pauseMs: timing.pauseMs, sha256 }
  const decide = () => decideCalls(find(), { ...now, decisions }, parts)
  if (!isWaiting) {
    decide() // throws unless the run has each of them
    return true
  }
  for (const [index, message] of request.messages.entries()) {
    steerRun(find(), { id: `answers:${outputs[0]!.call}:${index}`, message }, parts)
  }
  const turn = String(turns.at(-1)!.turn)
  if (request.echo) runs.change(find(), { echoes: { ...row.echoes, [turn]: request.echo } })
  decide()
  return false
}
