import { lazily } from '../lazily.ts'
import { jsonResponse } from '../responses.ts'
import type { AddRoute } from '../routes.ts'
import { toOpenApiDocument } from './document.ts'

/** `GET /api/openapi.json`: the contracts of all routes, made when it is first asked for. */
export function addOpenApiRoute(addRoute: AddRoute): void {
  const make = lazily(async () => toOpenApiDocument())
  addRoute('/api/openapi.json', { GET: async () => jsonResponse(await make()) })
}
