import type { HttpDeps, HttpHandler } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { agentNames, modelListings, noSuchModel, type Reach } from '../targets.ts'

/** `GET /v1/models`: what `model` may name for whoever asks, agents first. */
export function createListModels(deps: HttpDeps): HttpHandler {
  return (context) =>
    jsonResponse({ object: 'list', data: listModels(deps, context.get('principal')) })
}

/** `GET /v1/models/:id`; ids may hold slashes. */
export function createShowModel(deps: HttpDeps): HttpHandler {
  return (context) => {
    const id = context.req.param('id')
    const model = listModels(deps, context.get('principal')).find((known) => known.id === id)
    if (model) return jsonResponse(model)
    throw noSuchModel()
  }
}

function listModels(deps: HttpDeps, reach: Reach) {
  const agents = agentNames(deps, reach).map((id) => toModel(id, 'isola'))
  const taken = new Set(agents.map((agent) => agent.id))
  const models = modelListings(deps, reach).filter((listing) => !taken.has(listing.id))
  return [...agents, ...models.map((listing) => toModel(listing.id, listing.provider))]
}

/** Nobody says when a model was made; the field is required, so it is 0. */
function toModel(id: string, owner: string) {
  return { id, object: 'model', created: 0, owned_by: owner }
}
