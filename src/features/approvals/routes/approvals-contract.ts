import * as z from 'zod'
import { approvalEntrySchema, approvalRuleSchema } from '#contracts/approval-schemas.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import {
  approvalRulesQuery,
  approvalsQuery,
  inboxDecision,
  inboxDecisions,
} from './approvals-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { pause, runView } from '#runtime/session/types/run-view-contract.ts'
import { flag, text } from '#contracts/routes/shapes.ts'

const entry = approvalEntrySchema.meta({ id: 'Approval' })
const rule = approvalRuleSchema.meta({ id: 'ApprovalRule' })
const id = 'The entry’s id: `apr_` and 22 characters.'

/** Calls that wait for somebody’s yes, over all sessions, and what was allowed besides. */
export const approvalContracts = {
  'GET /api/operator/approvals': {
    summary: 'Lists calls that wait for a yes, of all sessions, newest first.',
    query: approvalsQuery,
    replies: {
      200: {
        is: 'A page of them, as the record has them: a moment old. An author sees those that wait for an author.',
        json: z.object({
          approvals: z.array(entry),
          next: text.optional().describe('There may be more: send it as `after`.'),
        }),
      },
    },
  },
  'POST /api/operator/approvals': {
    summary:
      'Decides about several calls of one shape, each by the hash of its arguments. Each has an outcome of its own.',
    body: inboxDecisions,
    replies: {
      200: {
        is: 'What became of each, in the order of the request.',
        json: z.object({
          decided: z.array(
            z.object({
              id: text,
              ok: flag,
              code: text.optional(),
              message: text.optional().describe('Why it was not taken.'),
            }),
          ),
        }),
      },
    },
    errors: [409],
  },
  'GET /api/operator/approvals/:id': {
    summary: 'A call that waits or waited for a yes.',
    params: { id },
    replies: {
      200: {
        is: 'It, with its arguments as its session has them while it waits.',
        json: entry.extend({ pause: pause.nullable() }),
      },
    },
  },
  'POST /api/operator/approvals/:id': {
    summary: 'Decides about it, as in its session. Without `argsHash` the one of the entry counts.',
    params: { id },
    body: inboxDecision,
    replies: { 200: { is: 'The run as it then is.', json: runView } },
    errors: [409],
  },
  'GET /api/approval-rules': {
    summary: 'Lists what was allowed besides single calls.',
    query: approvalRulesQuery,
    replies: {
      200: { is: 'The rules in force, newest first.', json: z.object({ rules: z.array(rule) }) },
    },
  },
  'DELETE /api/approval-rules/:rule': {
    summary: 'Revokes one: the next call of its shape asks again.',
    params: { rule: 'The rule’s id: `rul_` and 22 characters.' },
    body: noFields,
    isBodyOptional: true,
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } },
  },
} satisfies ApiContracts
