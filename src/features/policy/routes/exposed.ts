import type * as z from 'zod'
import {
  exposureDiff,
  exposureLines,
  offeredSkills,
  type Exposure,
} from '#runtime/catalog/types/generation.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { SkillShelf } from '#runtime/catalog/types/skill.ts'
import { contestedNotes, offeredResources } from '#surfaces/mcp/offered-resources.ts'
import { changeBy } from '#runtime/session/requests/asker.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import type { setExposedRequest } from './requests.ts'

export interface ExposedDeps {
  readonly plugins: Pick<PluginAdministration, 'exposed' | 'change'>
  readonly agents: Pick<AgentDirectory, 'offers' | 'toolNames' | 'list'>
  readonly skills: Pick<SkillShelf, 'outgoing'>
}

/** The choice for MCP clients, as a document and in lines, with notes about named items that are not offered. */
export async function readExposed(deps: ExposedDeps) {
  const { generation, exposed } = await deps.plugins.exposed('latest')
  const lines = exposureLines(exposed)
  return { generation, exposed, lines, notes: await notOffered(deps, exposed) }
}

/** Replaces the whole choice: an omitted field gets its default, which offers nothing but the orchestrator. */
export async function setExposed(
  deps: ExposedDeps,
  context: RequestContext,
  { exposed, dryRun }: z.infer<typeof setExposedRequest>,
) {
  const more = [...(await unknownNames(deps, exposed)), ...(await notOffered(deps, exposed))]
  if (dryRun) {
    const now = await deps.plugins.exposed('latest')
    const { lines } = exposureDiff(now.exposed, exposed)
    return { generation: now.generation, exposed, notes: [...lines, ...more] }
  }
  const by = changeBy(context)
  const { generation, notes } = await deps.plugins.change({ do: 'expose', exposed }, by)
  return { generation, exposed, notes: [...notes, ...more] }
}

/** Notes about named items that are nevertheless not offered. */
async function notOffered(
  { agents, skills }: ExposedDeps,
  exposed: Exposure,
): Promise<readonly string[]> {
  const names = offeredSkills(exposed)
  const { problems } = await skills.outgoing(names)
  const offers = await agents.offers(exposed.resources)
  return [...contestedNotes(offeredResources({ exposed, offers, skills: names })), ...problems]
}

/** Notes about names that match nothing now: they may be misspelt. */
async function unknownNames(
  { agents }: ExposedDeps,
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
