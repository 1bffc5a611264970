import * as z from 'zod'
import { contentBlockSchema } from '#runtime/kernel/types/asks.ts'
import type { Json } from '#contracts/json.ts'

/** One part of a rich output. */
export type ParsedBlock = z.infer<typeof contentBlockSchema>

/** Blocks for a person, and structured data for a program. At most 1 MiB together. */
export interface ParsedRichOutput {
  readonly content: readonly ParsedBlock[]
  readonly structured?: Json
}
