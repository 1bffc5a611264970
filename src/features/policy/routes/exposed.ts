import { setExposedRequest } from '../types/settings-requests.ts'
import {
  exposureDiff,
  exposureLines,
  offeredSkills,
  type Exposure,
} from '#runtime/catalog/types/exposure.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { contestedNotes, offeredResources } from '#surfaces/mcp/offered-resources.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { changeBy } from '#runtime/session/requests/change-by.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `GET /api/operator/exposed`: what MCP clients are offered, as a document and in lines, and what of it is not. */
export const readExposed: Handle = (deps) => async () => {
  const { generation, exposed } = await deps.plugins.exposed()
  const lines = exposureLines(exposed)
  return jsonResponse({ generation, exposed, lines, notes: await notOffered(deps, exposed) })
}

/** Replaces the whole choice: what is left out is as it ships, which is nothing but the orchestrator. */
export const setExposed: Handle = (deps) => async (context) => {
  const body = await readJsonObject(context.req.raw)
  const { exposed, dryRun } = parseFields(setExposedRequest, body)
  const more = [...(await unknownNames(deps, exposed)), ...(await notOffered(deps, exposed))]
  if (dryRun) {
    const now = await deps.plugins.exposed()
    const { lines } = exposureDiff(now.exposed, exposed)
    return jsonResponse({ generation: now.generation, exposed, notes: [...lines, ...more] })
  }
  const by = changeBy(deps, context)
  const { generation, notes } = await deps.plugins.change({ do: 'expose', exposed }, by)
  return jsonResponse({ generation, exposed, notes: [...notes, ...more] })
}

/** What is named and yet not offered. */
async function notOffered(
  { agents, skills }: HttpDeps,
  exposed: Exposure,
): Promise<readonly string[]> {
  const names = offeredSkills(exposed)
  const { problems } = await skills.outgoing(names)
  const offers = await agents.offers(exposed.resources)
  return [...contestedNotes(offeredResources({ exposed, offers, skills: names })), ...problems]
}

/** One that names nothing offers nothing, and whoever wrote it may have meant something else. */
async function unknownNames(
  { agents }: HttpDeps,
  { agents: wanted, tools }: Exposure,
): Promise<readonly string[]> {
  const known = new Set(['orchestrator', ...agents.list().map(({ name }) => name)])
  const all = await agents.toolNames(tools)
  const isThere = (one: string) =>
    one.endsWith('*') ? all.some((tool) => tool.startsWith(one.slice(0, -1))) : all.includes(one)
  return [
    ...wanted.filter((name) => !known.has(name)).map((name) => `There is no agent ${name} now.`),
    ...tools.filter((tool) => !isThere(tool)).map((tool) => `There is no tool ${tool} now.`),
  ]
}
