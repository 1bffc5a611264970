import * as z from 'zod'

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
