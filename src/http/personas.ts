import type { HttpDeps } from './deps.ts'
import { presenceIn } from './presence.ts'
import { jsonResponse } from './responses.ts'
import type { AddRoute } from './routes.ts'

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
