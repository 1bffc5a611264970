import type * as z from 'zod'
import type { Role } from '#contracts/keys.ts'
import type { approvalScope } from '#contracts/approval.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Limits } from '#contracts/lease.ts'
import type { AskAnswers, PauseRequest, ToolResult } from '#contracts/tool.ts'

/** The principal that decides an approval. A token without the needed scope has been refused before. */
export interface Decider {
  readonly principal: string
  readonly role: Role
  /** Where the decision was made: in the session, or in the inbox. */
  readonly via: 'session' | 'inbox'
}

export type ApprovalScope = z.infer<typeof approvalScope>

/**
 * A call that waits for an answer from outside. The object may leave memory meanwhile, and the waiting time is not
 * charged.
 */
export interface Pause extends PauseRequest {
  readonly call: string
  readonly tool: string
  /** The arguments as they would be run. */
  readonly input: JsonObject
  /** sha-256 of them: an approval holds for these only. */
  readonly argsHash: string
  /** The tool's version at the pause: an approval is valid for this version only. */
  readonly definitionHash: string
  /** Epoch milliseconds. */
  readonly sinceMs: number
  /** Of kind `budget`: the number of limit changes before the pause. A later change may end the pause. */
  readonly changes?: number
  /**
   * Of kind `budget`: the limits in force at the pause, those of session and day too. The run ends by these if no
   * change comes.
   */
  readonly limits?: Limits
}

/**
 * The answer to a pause: an approval of exactly these arguments, answers to the call's questions, or the call's
 * outcome. An earlier approval stays with later answers, and earlier answers with a later approval.
 */
export type PauseAnswer = {
  /** The sender, if not the session's own principal. */
  readonly by?: string
  /** The approver of the call; absent if no decision came in time. */
  readonly decidedBy?: Decider
  /** The scope of the approval, and the id of the rule that it made. */
  readonly scope?: ApprovalScope
  readonly rule?: string
} & (
  | {
      readonly kind: 'approved'
      readonly argsHash: string
      readonly definitionHash: string
      readonly answers?: AskAnswers
    }
  | { readonly kind: 'answered'; readonly answers: AskAnswers }
  | { readonly kind: 'outcome'; readonly result: ToolResult }
)

/** The answers to a call's questions; undefined for any other answer. */
export const answersIn = (answer: PauseAnswer | undefined): AskAnswers | undefined =>
  answer?.kind === 'outcome' ? undefined : answer?.answers

type Waiting = Pick<Pause, 'kind' | 'asks'>

/** Whether an answer fits this pause: an approval answers no question of a call, and an answer approves no call. */
export function settles({ kind, asks }: Waiting, answer: PauseAnswer): boolean {
  if (answer.kind === 'outcome') return true
  if (kind === 'approval' || kind === 'budget') return answer.kind === 'approved'
  const given = answersIn(answer) ?? {}
  return (
    asks !== undefined && Object.entries(asks).every(([key, asked]) => isFor(given[key], asked))
  )
}

const isFor = (given: AskAnswers[string] | undefined, asked: JsonObject): boolean =>
  given !== undefined && JSON.stringify(given.asked) === JSON.stringify(asked)

/** A principal's decision about one waiting call. */
export type Decision =
  | {
      readonly decision: 'approve'
      readonly argsHash?: string
      /**
       * Approves later calls of this shape as well: in this session, or in all sessions of this principal. Absent: this
       * call alone.
       */
      readonly also?: 'session' | 'always'
      /** With `also`: fields whose values may differ in later calls; all others stay fixed. */
      readonly free?: readonly string[]
      /** With `also`: for how long. */
      readonly days?: number
    }
  | { readonly decision: 'deny'; readonly message?: string }
  /**
   * The answer to a question, or the output of the client's tool. If the pause has `asks`, the answers by key to the
   * questions that `asksHash` names.
   */
  | { readonly decision: 'result'; readonly output: Json; readonly asksHash?: string }
  | { readonly decision: 'error'; readonly message: string }
