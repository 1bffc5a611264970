import * as z from 'zod'

// What requests and policies say of approvals.
/** Whose yes counts: whoever the session is of, or anybody whose key has this role. An operator's counts always. */
export const approverSchema = z.enum(['owner', 'author', 'operator'])
export type Approver = z.infer<typeof approverSchema>
