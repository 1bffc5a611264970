import * as z from 'zod'
import type { Json, JsonObject } from './json.ts'

/**
 * Parts of a rich answer, as the Model Context Protocol spells them (2025-11-25 and 2026-07-28, "ContentBlock"); of a
 * kind that is not in here a server's answer keeps nothing.
 */
const annotations = z.looseObject({}).optional()
const resourceContents = z.lazy(() =>
  z.union([
    z.object({ uri: z.string(), mimeType: z.string().optional(), text: z.string() }),
    z.object({ uri: z.string(), mimeType: z.string().optional(), blob: z.base64() }),
  ]),
)
/** A part of a rich output as the Model Context Protocol spells it; bytes are base64. */
export const contentBlockSchema = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string(), annotations }),
    z.object({ type: z.literal('image'), data: z.base64(), mimeType: z.string(), annotations }),
    z.object({ type: z.literal('audio'), data: z.base64(), mimeType: z.string(), annotations }),
    z.object({ type: z.literal('resource'), resource: resourceContents, annotations }),
    z.object({
      type: z.literal('resource_link'),
      uri: z.string(),
      name: z.string(),
      title: z.string().optional(),
      description: z.string().optional(),
      mimeType: z.string().optional(),
      annotations,
    }),
  ]),
)
/** One part of a rich output. */
export type ContentBlock = z.infer<typeof contentBlockSchema>

/**
 * A rich answer of a tool, whatever its origin: plain JSON with these keys and no others. A model reads it as the JSON
 * it is; an MCP client gets the blocks.
 */
export const richOutputSchema = z.strictObject({
  content: z.array(contentBlockSchema).min(1),
  structured: z.json().optional(),
})
/** Blocks for a person, and what a program reads. At most 1 MiB together. */
export interface RichOutput {
  readonly content: readonly ContentBlock[]
  readonly structured?: Json
}

/** The blocks of a rich answer; any other answer is one block of text. */
export function toContentBlocks(output: Json): readonly ContentBlock[] {
  const rich = richOutputSchema.safeParse(output)
  if (rich.success) return rich.data.content
  return [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }]
}

/** What is structured in an answer: of a rich one what it says, of another one the object it is. */
export function toStructured(output: Json): Json | undefined {
  const rich = richOutputSchema.safeParse(output)
  if (rich.success) return rich.data.structured as Json | undefined
  const isObject = typeof output === 'object' && output !== null && !Array.isArray(output)
  return isObject ? (output as JsonObject) : undefined
}
