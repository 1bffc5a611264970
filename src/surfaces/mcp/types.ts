import * as z from 'zod'
import { contentBlockSchema } from '#runtime/kernel/types/asks.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { ParsedBlock } from '#features/plugins/types/content.ts'

/**
 * A rich answer of a tool, whatever its origin: plain JSON with these keys and no others. A model reads it as the JSON
 * it is; an MCP client gets the blocks.
 */
export const richOutputSchema = z.strictObject({
  content: z.array(contentBlockSchema).min(1),
  structured: z.json().optional(),
})

/** The blocks of a rich answer; any other answer is one block of text. */
export function toContentBlocks(output: Json): readonly ParsedBlock[] {
  const rich = richOutputSchema.safeParse(output)
  if (rich.success) return rich.data.content
  return [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }]
}

/** The structured part of an answer: `structured` of a rich answer; else the answer itself, if it is an object. */
export function toStructured(output: Json): Json | undefined {
  const rich = richOutputSchema.safeParse(output)
  if (rich.success) return rich.data.structured as Json | undefined
  const isObject = typeof output === 'object' && output !== null && !Array.isArray(output)
  return isObject ? (output as JsonObject) : undefined
}
