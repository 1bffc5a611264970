import { defined } from '#contracts/defined.ts'
import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject, JsonSchema } from '#contracts/json.ts'
import type { ToolChoice, ToolDefinition } from '#contracts/model.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { invalid } from './history.ts'

const maxTools = 128
const maxTotalChars = 400_000
const ownPrefix = 'isola__'

const name = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')
  .refine((text) => !text.startsWith(ownPrefix), `must not begin with ${ownPrefix}`)
const described = {
  name,
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
}
const functionTool = z.object({ type: z.literal('function'), ...described })
/** A group of functions under one name, as codex sends it. */
const namespaceTool = z.object({
  type: z.literal('namespace'),
  name,
  tools: z.array(z.looseObject({ type: z.string() })),
})
/** A function in a chat completion. */
const nestedTool = z.object({ type: z.literal('function'), function: z.object(described) })
/** A tool that a provider would run for its clients. This deployment runs none, so the model is not offered it. */
const hostedTool = z.looseObject({
  type: z.custom<string>(
    (type) => typeof type === 'string' && !['', 'function', 'namespace'].includes(type),
    'must be function',
  ),
})

/** `tools` of the Responses API: functions, namespaces of them, and hosted tools, which are refused by name. */
export const responseTools = z
  .array(z.union([functionTool, namespaceTool, hostedTool]))
  .max(maxTools)
/** The names after unpacking: a namespace makes names longer. */
const namedTools = z.array(z.object({ name }))
/** `tools` of chat completions: functions, and hosted tools, which are refused by name. */
export const chatTools = z.array(z.union([nestedTool, hostedTool])).max(maxTools)

/** A tool that the client runs, under the name the model sees and under its own. */
export interface ClientTool extends ToolDefinition {
  readonly own: string
  readonly namespace?: string
  readonly strict: boolean | null
}

/** The names of those functions, as their client wrote them. */
export const clientToolNames = (tools: readonly unknown[] | null | undefined): readonly string[] =>
  (tools ?? [])
    .flatMap((tool) => functionsOf(tool as JsonObject))
    .flatMap(({ name }) => (typeof name === 'string' ? name : []))

/**
 * The functions among a client's tools; the rest is left out. Throws `request_invalid`.
 *
 * @param taken Names of the deployment's own tools: a call of one would never reach the client.
 */
export function toClientTools(
  tools: readonly unknown[] | null | undefined,
  taken: readonly string[] = [],
): readonly ClientTool[] {
  const found = (tools ?? []).flatMap((tool) => functionsOf(tool as JsonObject))
  const names = new Set<string>()
  for (const tool of found) {
    if (names.has(tool.name)) throw invalid('tools', `two tools have the name ${tool.name}`)
    if (taken.includes(tool.name)) {
      throw invalid('tools', `${tool.name} is a tool of this deployment: give yours another name`)
    }
    names.add(tool.name)
  }
  const parsed = namedTools.safeParse(found)
  if (!parsed.success) {
    const [index] = parsed.error.issues[0]!.path
    throw invalid('tools', `${found[Number(index)]?.name}: ${parsed.error.issues[0]!.message}`)
  }
  if (JSON.stringify(found).length > maxTotalChars) {
    throw invalid('tools', `are longer than ${maxTotalChars} characters together`)
  }
  return found
}

function functionsOf(tool: JsonObject, namespace?: string): readonly ClientTool[] {
  if (tool['type'] === 'namespace' && namespace === undefined) {
    const inner = (tool['tools'] ?? []) as readonly JsonObject[]
    return inner.flatMap((one) => functionsOf(one, String(tool['name'])))
  }
  if (tool['type'] !== 'function') return []
  const { name: own, description, parameters, strict } = (tool['function'] ?? tool) as JsonObject
  if (typeof own !== 'string') return []
  return [
    {
      name: namespace === undefined ? own : `${namespace}__${own}`,
      own,
      ...defined({ namespace }),
      description: typeof description === 'string' ? description : '',
      inputSchema: (parameters as JsonSchema | null | undefined) ?? {
        type: 'object',
        properties: {},
      },
      strict: typeof strict === 'boolean' ? strict : null,
    },
  ]
}

/** `tool_choice` of either API, before it is checked against the tools. */
export const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.looseObject({ type: z.string() }),
])
const allowedTools = z.object({
  mode: z.enum(['auto', 'none', 'required']).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })),
})

/** The client's tools that a `tool_choice` leaves, and the choice that binds the model. */
export interface ChosenTools {
  /** The tools that the model is offered. */
  readonly clientTools: readonly ToolDefinition[]
  readonly toolChoice?: ToolChoice
}

/** Throws `request_invalid` or `request_unsupported_parameter` with `tool_choice`. */
export function chooseTools(
  tools: readonly ClientTool[],
  choice: z.infer<typeof toolChoice> | null | undefined,
): ChosenTools {
  const offered = tools.map(({ name: tool, description, inputSchema }) => ({
    name: tool,
    description,
    inputSchema,
  }))
  if (choice === undefined || choice === null || choice === 'auto') return { clientTools: offered }
  // The agent's own tools are its own affair: only the client's are not to be called.
  if (choice === 'none') return { clientTools: [] }
  if (choice === 'required') return { clientTools: offered, toolChoice: 'required' }
  if (choice.type === 'allowed_tools') {
    const { mode, tools: listed } = parseFields(allowedTools, choice['allowed_tools'] ?? choice)
    const allowed = new Set(listed.map((tool) => nameIn(tool as JsonObject)))
    const known = new Set(tools.flatMap(({ own, name: tool }) => [own, tool]))
    const unknown = [...allowed].find((wanted) => wanted !== undefined && !known.has(wanted))
    if (unknown !== undefined) {
      throw invalid('tool_choice', `${unknown} is not one of the functions in tools`)
    }
    const kept = tools.filter(({ own, name: tool }) => allowed.has(own) || allowed.has(tool))
    return chooseTools(kept, mode)
  }
  const wanted = nameIn(choice as JsonObject)
  if (choice.type !== 'function' || wanted === undefined) {
    const message = `tool_choice: ${choice.type} is not run here; name one of the functions in tools.`
    throw new IsolaError('request_unsupported_parameter', message, { param: 'tool_choice' })
  }
  const tool = tools.find((one) => one.own === wanted || one.name === wanted)
  if (!tool) throw invalid('tool_choice', `${wanted} is not one of the functions in tools`)
  return { clientTools: offered, toolChoice: { tool: tool.name } }
}

function nameIn(choice: JsonObject): string | undefined {
  const { name: direct } = (choice['function'] ?? choice) as JsonObject
  return typeof direct === 'string' ? direct : undefined
}
