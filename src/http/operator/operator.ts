import { z } from 'zod'
import { errorCode } from '#contracts/errors.ts'
import type { AuditQuery } from '#contracts/operations.ts'
import type { HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import type { AddRoute } from '../routes.ts'
import { parseFields } from '../validate.ts'

const digits = (max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().max(max))
const auditQuery = z.strictObject({
  trace: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'must be a trace id: 32 lowercase hex characters')
    .optional(),
  session: z
    .string()
    .regex(/^ses_[0-9A-Za-z]{22}$/, 'must be a session id')
    .optional(),
  limit: digits(500)
    .refine((limit) => limit >= 1, 'must be 1 or more')
    .optional(),
  after: digits(Number.MAX_SAFE_INTEGER).optional(),
})

/** `/api/operator/…`: the record, and how the deployment is. */
export function addOperatorRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/operator/audit', {
    GET: async (context) =>
      jsonResponse(await deps.audit.query(parseAuditQuery(context.req.query()))),
  })
  addRoute('/api/operator/health', { GET: async () => jsonResponse(await healthOf(deps)) })
}

function parseAuditQuery(query: Readonly<Record<string, string>>): AuditQuery {
  const { trace, session, limit, after } = parseFields(auditQuery, query)
  return {
    ...(trace !== undefined && { trace }),
    ...(session !== undefined && { session }),
    limit: limit ?? 100,
    ...(after !== undefined && { after }),
  }
}

async function healthOf(deps: HttpDeps) {
  const migrations = await deps.readiness()
  const plugins = deps.pluginProblems()
  const selected = selectedModel(deps)
  const isWell = migrations.state === 'ready' && plugins.length === 0 && selected !== undefined
  return {
    status: isWell ? 'ok' : 'degraded',
    version: deps.version,
    migrations,
    plugins,
    models: { default: selected ?? null, served: deps.models.list().map((listing) => listing.id) },
  }
}

function selectedModel(deps: HttpDeps): string | undefined {
  try {
    const { provider, model } = deps.models.provider.select(undefined)
    return `${provider}/${model}`
  } catch (error) {
    if (errorCode(error) === 'model_not_configured') return undefined
    throw error
  }
}
