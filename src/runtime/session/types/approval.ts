import type { ApprovalScope, Decider } from '#runtime/kernel/types/pause.ts'
import type { Approver, ApprovalRequest } from '#contracts/approval.ts'
import type * as z from 'zod'
import type { jsonType, approvalRuleSchema, approvalEntrySchema } from './approval-schemas.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'

/** The reach of a rule, of one session or of all. */
export const scopeOf = ({ session }: Pick<ApprovalRule, 'session'>): ApprovalScope =>
  session === undefined ? 'rule' : 'session'

/** Whether this decider may approve. `owner`: the owner of the session. */
export function mayApprove(
  approver: Approver,
  { principal, role }: Pick<Decider, 'principal' | 'role'>,
  owner: string,
): boolean {
  if (role === 'operator') return true
  return approver === 'owner' ? principal === owner : role === approver
}

/** The possible approvers, in words for a principal that may not approve. */
export const approverText = (approver: Approver): string =>
  approver === 'owner'
    ? 'whoever the session is of, or an operator'
    : approver === 'operator'
      ? 'an operator'
      : `somebody with the role ${approver}, or an operator`

/** Fields of the arguments that may be anything of this type; all others are as they were approved. */
export type FreeFields = Readonly<Record<string, JsonType>>

type JsonType = z.infer<typeof jsonType>

export type ApprovalRule = Readonly<z.infer<typeof approvalRuleSchema>>

/** Why a call needs an approval, what it does outward, and where. */
export type AskedFor = Pick<ApprovalRequest, 'reason' | 'sinks' | 'place' | 'isDestructive'>

/** A call that would need an approval. */
export interface AskedCall {
  readonly principal: string
  readonly agent: string
  readonly tool: string
  readonly definitionHash?: string | undefined
  readonly rootSession: string
  readonly input: JsonObject
  readonly label?: Label | undefined
}

export type ApprovalEntry = Readonly<z.infer<typeof approvalEntrySchema>>

/** Filters for the list of entries. An absent filter matches all. */
export interface ApprovalQuery {
  readonly state?: ApprovalEntry['state']
  readonly approver?: Approver
  readonly agent?: string
  readonly principal?: string
  readonly tool?: string
  readonly session?: string
  readonly shape?: string
  readonly limit: number
  readonly after?: { readonly atMs: number; readonly id: string }
}

/** Calls of all sessions that wait or waited for a yes, as the record has them. May throw `request_unavailable`. */
export interface ApprovalInbox {
  /** Newest first. `next` is present if there may be more. */
  readonly list: (query: ApprovalQuery) => Promise<{
    readonly entries: readonly ApprovalEntry[]
    readonly next?: { readonly atMs: number; readonly id: string }
  }>
  readonly find: (id: string) => Promise<ApprovalEntry | undefined>
  /**
   * Removes a decided call from the list of waiting calls before the record does. Never rejects: the record comes in
   * any case.
   */
  readonly mark: (decided: {
    readonly session: string
    readonly run: string
    readonly call: string
    readonly state: 'approved' | 'denied'
    readonly decidedBy: Decider
  }) => Promise<void>
}
