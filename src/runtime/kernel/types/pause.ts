import type { ApprovalScope, Decider } from './approval.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Answers, PauseRequest, ToolResult } from '#contracts/tool.ts'

/** A call that waits for someone outside. Nothing stays resident meanwhile; its time is not charged. */
export interface Pause extends PauseRequest {
  readonly call: string
  readonly tool: string
  /** The arguments as they would be run. */
  readonly input: JsonObject
  /** sha-256 of them: an approval holds for these only. */
  readonly argsHash: string
  /** Of the tool as it was then: an approval holds for this version only. */
  readonly definitionHash: string
  /** Epoch milliseconds. */
  readonly sinceMs: number
  /** Of kind `budget`: how often the limits of the run had been changed then. A later change may end it. */
  readonly changes?: number
  /** Of kind `budget`: the limits in force then, those of session and day too. They hold for a run that ends because they stay. */
  readonly limits?: Limits
}

/**
 * What came of a pause: leave to run the call with exactly these arguments, what it asked for so that it can run
 * again, or its outcome. Leave that was given before what was asked stays with the answers, and the other way round.
 */
export type PauseAnswer = {
  /** Who gave it, if not the session's own principal. */
  readonly by?: string
  /** Who decided about a call that waited for a yes; absent if no decision came in time. */
  readonly decidedBy?: Decider
  /** How far their yes goes, and the id of the rule that it made. */
  readonly scope?: ApprovalScope
  readonly rule?: string
} & (
  | {
      readonly kind: 'approved'
      readonly argsHash: string
      readonly definitionHash: string
      readonly answers?: Answers
    }
  | { readonly kind: 'answered'; readonly answers: Answers }
  | { readonly kind: 'outcome'; readonly result: ToolResult }
)

/** The answers to a call's questions; undefined for any other answer. */
export const answersIn = (answer: PauseAnswer | undefined): Answers | undefined =>
  answer?.kind === 'outcome' ? undefined : answer?.answers

type Waiting = Pick<Pause, 'kind' | 'asks'>

/** Whether an answer fits this pause: leave to run a call is no answer to anything that it asks, nor the reverse. */
export function settles({ kind, asks }: Waiting, answer: PauseAnswer): boolean {
  if (answer.kind === 'outcome') return true
  if (kind === 'approval' || kind === 'budget') return answer.kind === 'approved'
  const given = answersIn(answer) ?? {}
  return (
    asks !== undefined && Object.entries(asks).every(([key, asked]) => isFor(given[key], asked))
  )
}

const isFor = (given: Answers[string] | undefined, asked: JsonObject): boolean =>
  given !== undefined && JSON.stringify(given.asked) === JSON.stringify(asked)

/** A principal's decision about one waiting call. */
export type Decision =
  | {
      readonly decision: 'approve'
      readonly argsHash?: string
      /** Also later calls of this shape: in this session, or in all of this principal. Absent: this call alone. */
      readonly also?: 'session' | 'always'
      /** With `also`: fields of the arguments that may be other than they are here; all others stay fixed. */
      readonly free?: readonly string[]
      /** With `also`: for how long. */
      readonly days?: number
    }
  | { readonly decision: 'deny'; readonly message?: string }
  /**
   * The answer to a question, or what the client's tool returned; where the pause has `asks`, an answer by key
   * to what its `asksHash` names.
   */
  | { readonly decision: 'result'; readonly output: Json; readonly asksHash?: string }
  | { readonly decision: 'error'; readonly message: string }
