import { isJsonObject } from '#contracts/json-object.ts'
import type { JsonSchema } from '#contracts/json.ts'
import { headOf } from '#contracts/cut.ts'
import type { SearchDocument } from '#contracts/search.ts'
import type { ToolDefinition } from '#contracts/model.ts'

const maxParametersChars = 4_000
const maxAboutChars = 400

/**
 * A tool as the search index needs it: the name without its owner, parameter names and texts apart.
 *
 * @param about The owner's description of itself.
 */
export function toToolDocument(
  { name, description, inputSchema }: ToolDefinition,
  about = '',
): SearchDocument {
  const split = name.indexOf('__')
  return {
    id: name,
    name: split < 0 ? name : name.slice(split + 2),
    owner: split < 0 ? '' : name.slice(0, split),
    description,
    parameters: describeParameters(inputSchema),
    ...(about !== '' && { ownerDescription: about }),
  }
}

/** A part's description of itself: of a plugin, or the instructions of an MCP server. At most 400 characters. */
export function describeOwner(manifest: unknown): string {
  const { description, items } = Object(manifest) as Readonly<Record<string, unknown>>
  const said = (Array.isArray(items) ? items : []).find(
    (item) => Object(item).kind === 'instructions',
  )
  const text = description ?? Object(Object(said).definition).text
  return typeof text === 'string' ? headOf(text, maxAboutChars) : ''
}

/**
 * Names and descriptions of a schema's top-level properties, at most 4,000 characters. The parameters of every agent (a
 * task, a place for its outcome) are left out: by them each agent would be found for "message" or "file".
 */
export function describeParameters({ properties }: JsonSchema): string {
  if (!isJsonObject(properties) || 'onOutcome' in properties) return ''
  return Object.entries(properties)
    .map(([name, schema]) =>
      isJsonObject(schema) && typeof schema.description === 'string'
        ? `${name} ${schema.description}`
        : name,
    )
    .join(' ')
    .slice(0, maxParametersChars)
}
