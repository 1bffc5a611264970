import * as z from 'zod'

// Words of approvals that requests and policies share.
/** Whose approval counts: the session's owner, or any principal with this role. An operator's counts always. */
export const approverSchema = z.enum(['owner', 'author', 'operator'])
export type Approver = z.infer<typeof approverSchema>
