import { jsonResponse } from '../responses.ts'
import type { AddRoute } from '../routes.ts'
import { toOpenApiDocument } from './document.ts'

/** `GET /api/openapi.json`: the contracts of all routes, made when it is asked for. */
export function addOpenApiRoute(addRoute: AddRoute): void {
  addRoute('/api/openapi.json', { GET: () => jsonResponse(toOpenApiDocument()) })
}
