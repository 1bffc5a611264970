import type { OpenaiDeps } from './deps.ts'
import { agentNames, modelListings, noSuchModel, type Asker } from '#platform/routes/targets.ts'

/** `GET /v1/models`: the names that a caller may send as `model`, agents first. */
export async function listAll(deps: OpenaiDeps, caller: Asker) {
  return { object: 'list', data: await listModels(deps, caller) }
}

/** `GET /v1/models/:id`; ids may hold slashes. */
export async function showModel(deps: OpenaiDeps, caller: Asker, id: string) {
  const models = await listModels(deps, caller)
  const model = models.find((known) => known.id === id)
  if (model) return model
  throw noSuchModel()
}

async function listModels(deps: OpenaiDeps, reach: Asker) {
  // The list of stored agents is extra: while the database is away, the client gets the rest.
  const stored = (await deps.agents.listRunnable?.(reach.id).catch(() => [])) ?? []
  const own = stored.map(({ id }) => id).filter((id) => reach.agents?.includes(id) !== false)
  const names = [...new Set([...agentNames(deps, reach), ...own])]
  const agents = names.map((id) => toModel(id, 'isola'))
  const taken = new Set(agents.map((agent) => agent.id))
  const models = modelListings(deps, reach).filter((listing) => !taken.has(listing.id))
  return [...agents, ...models.map((listing) => toModel(listing.id, listing.provider))]
}

/** The field is required, and providers give no date, so it is 0. */
function toModel(id: string, owner: string) {
  return { id, object: 'model', created: 0, owned_by: owner }
}
