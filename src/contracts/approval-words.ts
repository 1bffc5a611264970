import * as z from 'zod'

// What requests and policies say of approvals.
/** Whose approval counts: the session's owner, or any principal with this role. An operator's counts always. */
export const approverSchema = z.enum(['owner', 'author', 'operator'])
export type Approver = z.infer<typeof approverSchema>
