import { approvalRulesQuery } from './approvals-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { IsolaError } from '#contracts/errors.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpDeps } from '#platform/routes/deps.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { administrator } from '#platform/routes/administrator.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { seesEverybody } from '#runtime/session/requests/open-session.ts'
import { parseFields } from '#platform/routes/validate.ts'

/** `/api/approval-rules…`: one's own; an operator's and (to read) an auditor's are everybody's. */
export function addApprovalRuleRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/approval-rules', {
    GET: async (context) => {
      const { id, role } = context.get('principal')
      const query = parseFields(approvalRulesQuery, context.req.query())
      const { principal = role === 'auditor' ? '*' : id, limit = defaultListLimit } = query
      if (principal !== id && !seesEverybody(role)) {
        const message =
          'principal: only operators and auditors see the rules of others; leave it out.'
        throw new IsolaError('request_forbidden', message, { param: 'principal' })
      }
      const ofOne = principal !== '*' && { principal }
      return jsonResponse({ rules: await deps.approvalRules.list({ limit, ...ofOne }) })
    },
  })
  addRoute('/api/approval-rules/:rule', {
    DELETE: async (context) => {
      parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
      const { id: principal, role } = context.get('principal')
      const id = context.req.param('rule') ?? ''
      const isGone = await deps.approvalRules.revoke(
        id,
        administrator(deps, context),
        role === 'operator' ? undefined : principal,
      )
      if (!isGone) throw new IsolaError('request_not_found', 'There is no such rule.')
      return jsonResponse({ id, deleted: true })
    },
  })
}
