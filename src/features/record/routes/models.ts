import { modelsQuery } from './record-requests.ts'
import type { ModelRecord } from '#contracts/operations.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'

const hourMs = 3_600_000

/**
 * How each model did (C2): `record` is counted from the audit log, `now` is what the isolate that answers has seen
 * lately, which another one may see differently.
 */
export const readModels =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const { hours = 24 } = parseFields(modelsQuery, context.req.query())
    const sinceMs = deps.sources.clock.nowMs() - hours * hourMs
    const record = await deps.modelReport.since(sinceMs)
    return jsonResponse({ sinceMs, record: record.map(shown), now: deps.models.status() })
  }

const shown = ({ costNanoUsd, ...record }: ModelRecord) => ({
  ...record,
  costUsd: costNanoUsd / 1e9,
})
