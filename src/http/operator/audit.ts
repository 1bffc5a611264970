import { z } from 'zod'
import type { AuditQuery } from '#contracts/operations.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'
import { defaultListLimit, digits, listLimit } from '../list-queries.ts'

const auditQuery = z.strictObject({
  trace: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'must be a trace id: 32 lowercase hex characters')
    .optional(),
  session: z
    .string()
    .regex(/^(ses_[0-9A-Za-z]{22}|deployment)$/, 'must be a session id, or deployment')
    .optional(),
  limit: listLimit.optional(),
  after: digits(Number.MAX_SAFE_INTEGER).optional(),
})

export const readAudit =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> =>
    jsonResponse(await deps.audit.query(parseAuditQuery(context.req.query())))

function parseAuditQuery(query: Readonly<Record<string, string>>): AuditQuery {
  const { trace, session, limit, after } = parseFields(auditQuery, query)
  return {
    ...(trace !== undefined && { trace }),
    ...(session !== undefined && { session: session === 'deployment' ? '' : session }),
    limit: limit ?? defaultListLimit,
    ...(after !== undefined && { after }),
  }
}
