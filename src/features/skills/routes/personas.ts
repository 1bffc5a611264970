import type { HttpDeps } from '#platform/routes/deps.ts'
import { presenceIn } from '#runtime/session/requests/presence.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'

/** `GET /api/personas`: what the orchestrator may be asked to speak as, for whoever may ask it. */
export function addPersonaRoute(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/personas', {
    GET: async () => {
      const all = await deps.skills.list(presenceIn(deps))
      const personas = all
        .filter(({ kind, state }) => kind === 'persona' && state === 'ready')
        .map(({ name, description }) => ({ name, description }))
      return jsonResponse({ personas })
    },
  })
}
