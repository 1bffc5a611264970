import { z } from 'zod'
import { exposureLines, exposureSchema } from '#contracts/exposure.ts'
import { readJsonObject } from '../body.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'
import { changeBy } from './change-by.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

const setRequest = z.strictObject({ exposed: exposureSchema })

/** `GET /api/operator/exposed`: what MCP clients are offered, as a document and in lines. */
export const readExposed: Handle = (deps) => async () => {
  const { generation, exposed } = await deps.plugins.exposed()
  return jsonResponse({ generation, exposed, lines: exposureLines(exposed) })
}

/** Replaces the whole choice: what is left out is as it ships, which is nothing but the orchestrator. */
export const setExposed: Handle = (deps) => async (context) => {
  const { exposed } = parseFields(setRequest, await readJsonObject(context.req.raw))
  const by = changeBy(deps, context)
  const { generation, notes } = await deps.plugins.change({ do: 'expose', exposed }, by)
  return jsonResponse({ generation, exposed, notes: [...notes, ...unknownNames(deps, exposed)] })
}

/** One that names nothing offers nothing, and whoever wrote it may have meant something else. */
function unknownNames(
  { agents }: HttpDeps,
  { agents: wanted, tools }: z.infer<typeof exposureSchema>,
): readonly string[] {
  const known = new Set(['orchestrator', ...agents.list().map(({ name }) => name)])
  const all = agents.toolNames()
  const isThere = (one: string) =>
    one.endsWith('*') ? all.some((tool) => tool.startsWith(one.slice(0, -1))) : all.includes(one)
  return [
    ...wanted.filter((name) => !known.has(name)).map((name) => `There is no agent ${name} now.`),
    ...tools.filter((tool) => !isThere(tool)).map((tool) => `There is no tool ${tool} now.`),
  ]
}
