import type { ApprovalRule } from './approval.ts'
import type { Administrator } from '#contracts/keys.ts'

/** The rules that hold for a tool of a principal. May throw `request_unavailable`. */
export interface ApprovalRules {
  readonly of: (principal: string, tool: string) => Promise<readonly ApprovalRule[]>
  /** The same id twice is one rule. */
  readonly add: (rule: ApprovalRule) => Promise<void>
  /** Newest first; of all principals if none is named. */
  readonly list: (query: {
    readonly principal?: string
    readonly limit: number
  }) => Promise<readonly ApprovalRule[]>
  /** On the record with who takes it back. False if there is none, or (with a principal) none of that one. */
  readonly revoke: (id: string, by: Administrator, principal?: string) => Promise<boolean>
}
