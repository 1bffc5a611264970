import * as z from 'zod'
import { approvalState } from '#runtime/session/types/approval.ts'
import { approverSchema } from '#contracts/approval.ts'
import { listLimit, wantedName } from '#contracts/query-fields.ts'
import { approval, denial, hash } from '#runtime/session/requests/run-requests.ts'

const options = {
  error: (issue: { readonly code?: string }) =>
    issue.code === 'invalid_union' ? 'must be approve or deny' : undefined,
}

/** `POST /api/operator/approvals/:id`. */
export const inboxDecision = z.discriminatedUnion(
  'decision',
  [z.strictObject(approval), z.strictObject(denial)],
  options,
)

const id = z.string().min(1).max(100)
const shown = hash.describe('That of the arguments that were shown: it holds for these only.')
const listOf = <Entry extends z.ZodType>(entry: Entry) => z.array(entry).min(1).max(100)

/** `POST /api/operator/approvals`. */
export const inboxDecisions = z.discriminatedUnion(
  'decision',
  [
    z.strictObject({
      approvals: listOf(z.strictObject({ id, argsHash: shown })),
      decision: approval.decision,
    }),
    z.strictObject({
      approvals: listOf(z.strictObject({ id, argsHash: shown.exactOptional() })),
      ...denial,
    }),
  ],
  options,
)

/** `GET /api/operator/approvals`. */
export const approvalsQuery = z.strictObject({
  state: approvalState.describe('`open` if absent.').optional(),
  approver: approverSchema.optional(),
  agent: wantedName.optional(),
  principal: wantedName.optional(),
  tool: wantedName.optional(),
  session: wantedName.optional(),
  shape: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the `shape` of an entry')
    .optional(),
  limit: listLimit.optional(),
  after: z
    .string()
    .regex(/^\d{1,15}-apr_[0-9a-f]{22}$/, 'must be the `next` of another page')
    .optional(),
})
