import type { HttpDeps } from '#platform/routes/deps.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { createCompact } from './compact.ts'
import { createResponses } from './create-response.ts'
import {
  createCancelResponse,
  createDeleteResponse,
  createListInputItems,
  createShowResponse,
} from './stored-response.ts'

/** `/v1/responses…`, the Responses API. */
export function addResponseRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/v1/responses', { POST: createResponses(deps) })
  addRoute('/v1/responses/compact', { POST: createCompact(deps) })
  addRoute('/v1/responses/:id', {
    GET: createShowResponse(deps),
    DELETE: createDeleteResponse(deps),
  })
  addRoute('/v1/responses/:id/cancel', { POST: createCancelResponse(deps) })
  addRoute('/v1/responses/:id/input_items', { GET: createListInputItems(deps) })
}
