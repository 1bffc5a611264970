import * as z from 'zod'

/** The state of a call that needs an approval. `ended`: its run ended before a decision. */
export const approvalState = z.enum(['open', 'approved', 'denied', 'expired', 'ended'])
