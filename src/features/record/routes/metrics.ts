import { metricsQuery } from './record-requests.ts'
import type { Metrics } from '#contracts/operations.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { dayMs, maxWindowMs } from '#platform/routes/list-queries.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { toExposition } from './metrics-text.ts'

const nanoPerUsd = 1e9

/**
 * Task success, turns, tool errors and latency, tokens and cost since a moment (C7): the last day unless `since` says
 * more, at most 31 days. As JSON, or in Prometheus's text format.
 */
export const readMetrics =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const { since, format } = parseFields(metricsQuery, context.req.query())
    const nowMs = deps.sources.clock.nowMs()
    const sinceMs = Math.max(since ?? nowMs - dayMs, nowMs - maxWindowMs)
    const metrics = await deps.metrics.since(sinceMs)
    const isText = (format ?? formatOf(context.req.header('accept'))) === 'prometheus'
    if (!isText) return jsonResponse(shown(sinceMs, metrics))
    return new Response(toExposition(metrics), {
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    })
  }

/** What a scraper asks for; a browser and curl get JSON. */
const formatOf = (accept = ''): 'json' | 'prometheus' =>
  /text\/plain|openmetrics-text/.test(accept) && !accept.includes('json') ? 'prometheus' : 'json'

function shown(sinceMs: number, { agents, tools, models }: Metrics) {
  const inDollars = <T extends { readonly costNanoUsd: number }>({ costNanoUsd, ...rest }: T) => ({
    ...rest,
    costUsd: costNanoUsd / nanoPerUsd,
  })
  return { sinceMs, agents: agents.map(inDollars), tools, models: models.map(inDollars) }
}
