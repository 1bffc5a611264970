import * as z from 'zod'

/** What became of a call that waited for a yes. `ended`: its run did, before anybody had decided. */
export const approvalState = z.enum(['open', 'approved', 'denied', 'expired', 'ended'])
