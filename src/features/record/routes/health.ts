import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { unlimited } from '#contracts/lease.ts'
import type { DatabaseState } from '#platform/d1/types.ts'
import type { PluginProblem, Readiness } from '#contracts/operations.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { IncidentRecord, PrincipalReader } from '#runtime/session/types/principal.ts'
import type { Sources } from '#contracts/sources.ts'
import { selectedModel, type Targets } from '#platform/routes/targets.ts'

/** A persistent incident is reported again every few seconds: an older report is past. */
const recentMs = 3_600_000
const maxCounted = 200
const maxShown = 20

/** Where the health of a deployment is read. */
export interface HealthDeps {
  readonly version: string
  readonly readiness: () => Promise<Readiness>
  /** Asked anew each time; never throws. */
  readonly database: () => Promise<DatabaseState>
  readonly plugins: Pick<PluginAdministration, 'failed'>
  readonly pluginProblems: () => Promise<readonly PluginProblem[]>
  readonly principals: Pick<PrincipalReader, 'incidents' | 'clearIncident'>
  readonly models: Pick<Targets['models'], 'provider' | 'list'>
  /** Where a day's cost is limited, in words for an operator. May throw. */
  readonly costLimits: () => Promise<readonly string[]>
  /** Why no secret can be sealed or opened; `undefined` if all is well. */
  readonly secretProblem: () => Error | undefined
  readonly sources: Sources
}

/** The health of the deployment: answers even if parts of it are down. */
export async function readHealth(deps: HealthDeps) {
  const [migrations, database, failed, incidents, problems] = await Promise.all([
    deps.readiness(),
    deps.database(),
    deps.plugins.failed().catch(() => []), // then the database is not well either
    deps.principals.incidents(maxCounted).catch(() => undefined), // it is null below
    deps.pluginProblems(),
  ])
  const plugins = [...problems, ...failed]
  const selected = selectedModel(deps)
  // The limits are in the database: a slow one is waited for only once, above.
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
  return {
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
  }
}

/** Removes one incident from the list, or all. An incident that goes on is reported anew. */
export async function clearIncident(
  { principals }: Pick<HealthDeps, 'principals'>,
  id: string,
): Promise<{ readonly id: string; readonly cleared: true }> {
  const incidents = await principals.incidents(maxCounted)
  const found = incidents.filter((one) => id === everyIncident || incidentId(one) === id)
  if (found.length === 0 && id !== everyIncident)
    throw new IsolaError('request_not_found', 'There is no such incident.')
  for (const { kind, session } of found) await principals.clearIncident({ kind, session })
  return { id, cleared: true }
}

/** In place of an id: every incident. */
const everyIncident = 'all'

/** An incident's id: its kind, and its session if it has one. */
const incidentId = ({ kind, session }: Pick<IncidentRecord, 'kind' | 'session'>) =>
  session === '' ? kind : `${kind}:${session}`

const hasRecent = (incidents: readonly IncidentRecord[], nowMs: number) =>
  incidents.some(({ lastAtMs }) => nowMs - lastAtMs < recentMs)

/** How many places have each kind of incident, and the newest incidents. */
function summaryOf(incidents: readonly IncidentRecord[]) {
  const counts: Partial<Record<IncidentRecord['kind'], number>> = {}
  for (const { kind } of incidents) counts[kind] = (counts[kind] ?? 0) + 1
  const newest = incidents.slice(0, maxShown).map((one) => ({ id: incidentId(one), ...one }))
  return { counts, newest }
}

/** Why a run under any cost limit would find no model: the refusal of the default model for such a request. */
function priceProblem({ models }: Pick<HealthDeps, 'models'>): string | undefined {
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
