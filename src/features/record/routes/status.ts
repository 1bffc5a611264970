import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { selectedModel } from './health.ts'
import { dayOf, shown } from './usage.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'

/** `GET /api/status`: the caller's own, with any key. */
export function addStatusRoute(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/status', { GET: (context) => readStatus(deps, context) })
}

async function readStatus(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const { id: principal, role } = context.get('principal')
  // A day that cannot be asked for is no reason to say nothing of the rest.
  const usage = await dayOf(deps, principal).catch(() => undefined)
  return jsonResponse({
    version: deps.version,
    principal,
    role,
    model: selectedModel(deps) ?? null,
    day: usage
      ? {
          limits: shown(usage.limits),
          settled: shown(usage.settled),
          reserved: shown(usage.reserved),
        }
      : null,
  })
}
