import type { Json, JsonSchema } from '#contracts/json.ts'
import type { SearchDocument } from '#contracts/search.ts'
import type { ToolDefinition } from '#contracts/model.ts'

const maxParametersChars = 4_000

/** A tool as the search index wants it: the name without its owner, parameter names and texts apart. */
export function toToolDocument({ name, description, inputSchema }: ToolDefinition): SearchDocument {
  const split = name.indexOf('__')
  return {
    id: name,
    name: split < 0 ? name : name.slice(split + 2),
    owner: split < 0 ? '' : name.slice(0, split),
    description,
    parameters: describeParameters(inputSchema),
  }
}

/**
 * Names and descriptions of a schema's top-level properties, at most 4,000 characters. What every agent takes (a task,
 * where its outcome goes) says nothing of any, and would have each found by "message" or "file".
 */
export function describeParameters({ properties }: JsonSchema): string {
  if (!isObject(properties) || 'onOutcome' in properties) return ''
  return Object.entries(properties)
    .map(([name, schema]) =>
      isObject(schema) && typeof schema.description === 'string'
        ? `${name} ${schema.description}`
        : name,
    )
    .join(' ')
    .slice(0, maxParametersChars)
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
