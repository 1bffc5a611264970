import type { Role } from '#contracts/keys.ts'
import type * as z from 'zod'
import type { approvalScope } from '#contracts/approval.ts'

/** The principal that decides an approval. A token without the needed scope has been refused before. */
export interface Decider {
  readonly principal: string
  readonly role: Role
  /** Where the decision was made: in the session, or in the inbox. */
  readonly via: 'session' | 'inbox'
}

export type ApprovalScope = z.infer<typeof approvalScope>
