import * as z from 'zod'
import type { Asks, PauseRequest, ToolResult } from '#contracts/tool.ts'

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

/** The tool that asks a person. */
export const askName = 'isola__ask'

const optional = z.boolean().optional()
const block = z.lazy(() =>
  z.union([z.string().transform((text) => ({ type: 'text' as const, text })), contentBlockSchema]),
)
/** The questions that a call may put to the client, in the words of MCP. */
export const askSchema = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('elicit'),
      message: z.string().min(1).max(4_000),
      schema: z.looseObject({ type: z.literal('object') }),
      optional,
    }),
    z.strictObject({
      kind: z.literal('sample'),
      messages: z
        .array(z.strictObject({ role: z.enum(['user', 'assistant']), content: block }))
        .min(1)
        .max(100),
      maxTokens: z.int().min(1).max(1_000_000),
      system: z.string().max(16_000).optional(),
      temperature: z.number().min(0).max(2).optional(),
      optional,
    }),
    z.strictObject({ kind: z.literal('roots'), optional }),
  ]),
)
/** One question of a call: a form, a request to the client's model, or the client's folders. */
export type AskRequest = z.infer<typeof askSchema>

/** Whether an accepted form lets an effect happen. Such an acceptance counts as an approval. */
export const asksForYes = ({ asks = {}, isReadOnly }: Pick<PauseRequest, 'asks' | 'isReadOnly'>) =>
  isReadOnly !== true && Object.values(asks).some(({ kind }) => kind === 'elicit')

/** How a call that asks ends: its outcome comes when it has run again. */
export const waitingFor = (
  asks: Asks,
  isReadOnly: boolean,
): ToolResult & { readonly ok: false } => ({
  ok: false,
  error: { code: 'tool_pending', message: 'Waiting for an answer.' },
  pause: { kind: 'question', expires: true, asks, ...(isReadOnly && { isReadOnly }) },
})
