import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { unlimited } from '#contracts/lease.ts'
import type { IncidentRecord } from '#runtime/session/types/principal.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'

/** What goes on is said again every few seconds: what nobody has said for so long is past. */
const recentMs = 3_600_000
const maxCounted = 200
const maxShown = 20

/** How the deployment is. Answers 200 with whatever is down: that is what it is for. */
export const readHealth = (deps: HttpDeps) => async (): Promise<Response> => {
  const [migrations, database, failed, incidents, problems] = await Promise.all([
    deps.readiness(),
    deps.database(),
    deps.plugins.failed().catch(() => []), // then the database is not well either
    deps.principals.incidents(maxCounted).catch(() => undefined), // it is null below
    deps.pluginProblems(),
  ])
  const plugins = [...problems, ...failed]
  const selected = selectedModel(deps)
  // The limits are in the database: one that is slow is waited for once, above.
  const unpriced = database === 'ok' ? priceProblem(deps) : undefined
  const costLimits = unpriced === undefined ? [] : await deps.costLimits().catch(() => []) // settings are said to be wrong
  const price = costLimits.length > 0 ? unpriced : undefined
  const secretProblem = deps.secretProblem()
  const isWell =
    migrations.state === 'ready' &&
    database === 'ok' &&
    plugins.length === 0 &&
    selected !== undefined &&
    price === undefined &&
    secretProblem === undefined &&
    incidents !== undefined &&
    !hasRecent(incidents, deps.sources.clock.nowMs())
  return jsonResponse({
    status: isWell ? 'ok' : 'degraded',
    version: deps.version,
    database,
    migrations,
    plugins,
    secrets: secretProblem ? { problem: secretProblem.message } : 'ok',
    models: {
      default: selected ?? null,
      served: deps.models.list().map((listing) => listing.id),
      ...(price && { problem: `${price} Limits: ${costLimits.slice(0, maxShown).join(', ')}.` }),
    },
    incidents: incidents === undefined ? null : summaryOf(incidents),
  })
}

/** `DELETE /api/operator/incidents/:incident`: one incident, or all. What goes on is reported anew. */
export const clearIncident =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const id = context.req.param('incident') ?? ''
    const incidents = await deps.principals.incidents(maxCounted)
    const found = incidents.filter((one) => id === everyIncident || incidentId(one) === id)
    if (found.length === 0 && id !== everyIncident)
      throw new IsolaError('request_not_found', 'There is no such incident.')
    for (const { kind, session } of found) await deps.principals.clearIncident({ kind, session })
    return jsonResponse({ id, cleared: true })
  }

/** In the place of an id. */
const everyIncident = 'all'

/** A kind in one place is one incident. */
const incidentId = ({ kind, session }: Pick<IncidentRecord, 'kind' | 'session'>) =>
  session === '' ? kind : `${kind}:${session}`

const hasRecent = (incidents: readonly IncidentRecord[], nowMs: number) =>
  incidents.some(({ lastAtMs }) => nowMs - lastAtMs < recentMs)

/** In how many places each kind is, and the newest of them. */
function summaryOf(incidents: readonly IncidentRecord[]) {
  const counts: Partial<Record<IncidentRecord['kind'], number>> = {}
  for (const { kind } of incidents) counts[kind] = (counts[kind] ?? 0) + 1
  const newest = incidents.slice(0, maxShown).map((one) => ({ id: incidentId(one), ...one }))
  return { counts, newest }
}

/** What answers where no model is named; undefined if nothing does. */
export function selectedModel(deps: HttpDeps): string | undefined {
  try {
    const { provider, model } = deps.models.provider.select(undefined)
    return `${provider}/${model}`
  } catch (error) {
    if (errorCode(error) === 'model_not_configured') return undefined
    throw error
  }
}

/** Why a run under a cost limit, however high, would find no model: what the default refuses such a request with. */
function priceProblem({ models }: HttpDeps): string | undefined {
  const request = {
    model: undefined,
    messages: [],
    tools: [],
    parameters: {},
    maxCostNanoUsd: unlimited - 1,
  }
  try {
    models.provider.select(undefined, request)
    return undefined
  } catch (error) {
    return errorCode(error) === 'model_price_unknown' ? errorMessage(error) : undefined
  }
}
