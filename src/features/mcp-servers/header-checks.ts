import type { Json, JsonObject } from '#contracts/json.ts'

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const key = 'x-mcp-header'

/**
 * Why a tool's arguments cannot be mirrored into headers as its schema asks; `undefined` if they can, or if it asks
 * for none. A client must leave such a tool out (2026-07-28, SEP-2243): a header name that is invalid, occurs twice,
 * or belongs to no argument of a plain type.
 */
export function headerProblem(inputSchema: Json | undefined): string | undefined {
  const names = new Set<string>()
  const problem = (node: Json | undefined, isReachable: boolean): string | undefined => {
    if (Array.isArray(node)) return firstOf(node.map((part: Json) => [part, false] as const))
    if (!isObject(node)) return undefined
    const own = key in node ? whyNot(node, isReachable, names) : undefined
    if (own !== undefined) return own
    const parts = Object.entries(node).flatMap(([name, part]) =>
      name === 'properties' && isObject(part)
        ? Object.values(part).map((one) => [one, isReachable] as const)
        : data.has(name)
          ? []
          : [[part, false] as const],
    )
    return firstOf(parts)
  }
  const firstOf = (parts: readonly (readonly [Json, boolean])[]): string | undefined => {
    for (const [part, isReachable] of parts) {
      const found = problem(part, isReachable)
      if (found !== undefined) return found
    }
    return undefined
  }
  // The schema itself is no argument.
  return isObject(inputSchema) && key in inputSchema
    ? 'its inputSchema wants a header for no argument'
    : problem(inputSchema, true)
}

/** Keywords whose values are data, not schemas. */
const data: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required', key])

function whyNot(node: JsonObject, isReachable: boolean, names: Set<string>): string | undefined {
  const name = node[key]
  if (typeof name !== 'string' || !token.test(name))
    return 'wants a header with a name that is not valid'
  if (!isReachable) return 'wants a header for what is no argument of its own'
  if (!['string', 'integer', 'boolean'].includes(String(node['type'])))
    return 'wants a header for an argument that is not a text, an integer or a boolean'
  if (names.has(name.toLowerCase())) return 'wants one header for two arguments'
  names.add(name.toLowerCase())
  return undefined
}

/** Whether this is a JSON object. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
