import type * as z from 'zod'
import type { approvalRequestSchema } from './approval-schemas.ts'

export type ApprovalRequest = Readonly<z.infer<typeof approvalRequestSchema>>
