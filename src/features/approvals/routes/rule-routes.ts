import * as z from 'zod'
import { flag, text, reply } from '#platform/routes/shapes.ts'
import { type ApprovalRules, approvalRuleSchema } from '#runtime/session/types/approval.ts'
import { IsolaError } from '#contracts/errors.ts'
import { listLimit, wantedName } from '#contracts/query-fields.ts'
import { noBody } from '#platform/routes/answer.ts'
import { defaultListLimit, ofCallers } from '#platform/routes/queries.ts'
import { sessionReaders, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'

interface ApprovalRuleDeps {
  readonly approvalRules: Pick<ApprovalRules, 'list' | 'revoke'>
}

const rule = approvalRuleSchema.meta({ id: 'ApprovalRule' })

/**
 * `/api/approval-rules…`: the caller's own rules; an operator manages, and an auditor reads, those of every
 * principal.
 */
export default [
  route('GET /api/approval-rules', {
    roles: sessionReaders,
    summary: 'Lists what was allowed besides single calls.',
    query: z.strictObject({
      principal: wantedName
        .describe('`*`: everybody’s; of others for operators and auditors.')
        .optional(),
      limit: listLimit.optional(),
    }),
    replies: reply(200, 'The rules in force, newest first.', z.object({ rules: z.array(rule) })),
    async handle({ approvalRules }: ApprovalRuleDeps, { query, caller }) {
      const { limit = defaultListLimit } = query
      const whose = ofCallers(caller, query.principal, 'rules')
      return { rules: await approvalRules.list({ limit, ...whose }) }
    },
  }),
  route('DELETE /api/approval-rules/:rule', {
    roles: talkers,
    summary: 'Revokes one: the next call of its shape asks again.',
    params: { rule: 'The rule’s id: `rul_` and 22 characters.' },
    body: noBody,
    replies: reply(200, 'It is gone.', z.object({ id: text, deleted: flag })),
    async handle({ approvalRules }: ApprovalRuleDeps, { params: { rule: id }, caller, by }) {
      const owner = caller.role === 'operator' ? undefined : caller.id
      if (await approvalRules.revoke(id, by(), owner)) return { id, deleted: true }
      throw new IsolaError('request_not_found', 'There is no such rule.')
    },
  }),
] as const
