import * as z from 'zod'
import type { Tool, ToolResult } from '#contracts/tool.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { IsolaError } from '#contracts/errors.ts'
import { readOutputName } from '#runtime/catalog/output-tool.ts'
import { toParam } from '#platform/routes/json-shape.ts'

const noResult = {
  ok: false,
  error: {
    code: 'tool_failed',
    message: 'The tool gave no result: "execute" must resolve with { ok: true, output }.',
  },
} as const

/** A tool of the host's, which receives its errors: the model learns nothing of them. */
export function reportingTool(tool: Tool, onFault: (error: unknown) => void): Tool {
  const { name, description, inputSchema } = tool
  return {
    name,
    description,
    inputSchema,
    async execute(input, context) {
      try {
        const result: unknown = await tool.execute(input, context)
        const isResult = typeof Object(result).ok === 'boolean'
        return isResult ? (result as ToolResult) : noResult
      } catch (error) {
        onFault(error)
        throw error
      }
    },
  }
}

const text = z.string()
const method = z.custom<(...given: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
)
const part = z.custom<object>((value) => typeof value === 'object' && value !== null, {
  message: 'must be an object',
})
const countError = 'must be a whole number, 0 or more'
const count = z.int(countError).min(0, countError)

const tool = z.looseObject({
  name: text.regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"'),
  description: text,
  inputSchema: z.looseObject({ type: z.literal('object', { error: 'must be "object"' }) }),
  execute: method,
})

/** The options of an embedded agent. A class may have its methods on its prototype, so nothing is copied. */
const schema = z.strictObject({
  id: text.regex(
    /^[a-z0-9]+(-[a-z0-9]+)*$/i,
    'must be a slug or a UUID: letters and digits, with single hyphens between them',
  ),
  taskPrompt: text,
  tools: z.array(tool),
  modelProviders: z.array(z.looseObject({ select: method, estimate: method, generate: method })),
  name: text.optional(),
  description: text.optional(),
  model: text.optional(),
  maxSteps: z.int().min(1).optional(),
  limits: z
    .strictObject(
      Object.fromEntries(Object.keys(defaultAgentLimits).map((name) => [name, count.optional()])),
    )
    .optional(),
  ...Object.fromEntries(
    [
      'memoryClient',
      'databaseClient',
      'promptStore',
      'planner',
      'executor',
      'reflector',
      'validator',
      'sources',
    ].map((name) => [name, part.optional()]),
  ),
})

/** Throws `config_invalid`, naming the option, for what is missing, of another kind, unknown or of no use here. */
export function checkAgentOptions(options: unknown): void {
  const parsed = schema.safeParse(options)
  const issue = parsed.success ? undefined : parsed.error.issues[0]
  if (issue) throw invalid(pathOf(issue), reasonOf(issue))
  const { tools = [], ...others } = (parsed.data ?? {}) as Partial<z.infer<typeof schema>>
  const names = tools.map(({ name }) => name)
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index)
  if (twice >= 0)
    throw invalid(`tools[${twice}].name`, `another tool is called ${names[twice]} too`)
  const taken = names.indexOf(readOutputName)
  if (taken >= 0)
    throw invalid(`tools[${taken}].name`, `${readOutputName} opens what left a long session`)
  // Refused, not ignored: a caller who passes a client counts on its being used.
  for (const name of ['memoryClient', 'databaseClient', 'promptStore']) {
    if (Reflect.get(others, name) === undefined) continue
    throw invalid(
      name,
      'an embedded agent does not use one yet; leave it out, or hold it in a tool',
    )
  }
}

function pathOf({ path, ...issue }: z.core.$ZodIssue): string {
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  return toParam([...path, ...unknown]) || 'options'
}

function reasonOf({ message, ...issue }: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return 'is not an option; remove it'
  return message.replace(/^Invalid input: /, '')
}

const invalid = (param: string, why: string) =>
  new IsolaError('config_invalid', `${param}: ${why}.`, { param })
