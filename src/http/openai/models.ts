import { IsolaError } from '#contracts/errors.ts'
import type { HttpDeps, HttpHandler } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { agentNames } from '../targets.ts'

/** `GET /v1/models`: what `model` may name, agents first. */
export function createListModels(deps: HttpDeps): HttpHandler {
  return () => jsonResponse({ object: 'list', data: listModels(deps) })
}

/** `GET /v1/models/:id`; ids may hold slashes. */
export function createShowModel(deps: HttpDeps): HttpHandler {
  return (context) => {
    const id = context.req.param('id')
    const model = listModels(deps).find((known) => known.id === id)
    if (model) return jsonResponse(model)
    const message = 'There is no such model or agent. GET /v1/models lists them.'
    throw new IsolaError('request_model_not_found', message, { param: 'model' })
  }
}

function listModels(deps: HttpDeps) {
  const agents = agentNames(deps).map((id) => toModel(id, 'isola'))
  const taken = new Set(agents.map((agent) => agent.id))
  const models = deps.models.list().filter((listing) => !taken.has(listing.id))
  return [...agents, ...models.map((listing) => toModel(listing.id, listing.provider))]
}

/** Nobody says when a model was made; the field is required, so it is 0. */
function toModel(id: string, owner: string) {
  return { id, object: 'model', created: 0, owned_by: owner }
}
