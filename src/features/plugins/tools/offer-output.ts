import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { contentBlockSchema } from '#runtime/kernel/types/asks.ts'
import type { ParsedBlock, ParsedRichOutput } from '../types/content.ts'
import type { Json } from '#contracts/json.ts'
import { NotJsonError, toJson } from '../sandbox/json-border.ts'
import { OutputError } from '../types/plugin-output.ts'

const content = z.lazy(() =>
  z.union([
    z.strictObject({
      text: z.string(),
      mimeType: z.string().optional(),
      uri: z.string().optional(),
    }),
    z.strictObject({
      blob: z.base64(),
      mimeType: z.string().optional(),
      uri: z.string().optional(),
    }),
  ]),
)
const resourceAnswer = z.union([
  z.string().transform((text) => [{ text }]),
  content.transform((one) => [one]),
  z.array(content).min(1).max(1_000),
])

/** A resource function's answer as a rich output: one block for each content. Throws OutputError. */
export function toResourceOutput(
  answer: unknown,
  about: { readonly uri: string; readonly mimeType: string | undefined },
): ParsedRichOutput {
  const contents = resourceAnswer.safeParse(toPlain(answer))
  if (!contents.success)
    throw new OutputError(
      'returned something else than a text, { text }, { blob } in base64, or a list of these.',
    )
  return { content: contents.data.map((one) => toBlock(one, about)) }
}

function toBlock(
  { uri, mimeType, ...rest }: z.infer<typeof content>,
  about: { readonly uri: string; readonly mimeType: string | undefined },
): ParsedBlock {
  const type = mimeType ?? about.mimeType
  const where = { uri: uri ?? about.uri, ...defined({ mimeType: type }) }
  return 'text' in rest
    ? { type: 'resource', resource: { ...where, text: rest.text } }
    : { type: 'resource', resource: { ...where, blob: rest.blob } }
}

const block = z.lazy(() =>
  z.union([
    z.string().transform((text): ParsedBlock => ({ type: 'text', text })),
    contentBlockSchema,
  ]),
)
const message = z.lazy(() =>
  z.strictObject({ role: z.enum(['user', 'assistant']), content: block }),
)
const promptAnswer = z.lazy(() =>
  z.union([
    z
      .string()
      .transform((text) => [{ role: 'user' as const, content: { type: 'text' as const, text } }]),
    z.array(message).min(1).max(1_000),
  ]),
)

/**
 * A prompt function's answer as a rich output: the messages are only under `structured`, since a model should not
 * read a long one twice. Throws OutputError.
 */
export function toPromptOutput(answer: unknown): ParsedRichOutput {
  const messages = promptAnswer.safeParse(toPlain(answer))
  if (!messages.success)
    throw new OutputError(
      'returned something else than a text, or messages with a role and content.',
    )
  const count = messages.data.length === 1 ? '1 message' : `${messages.data.length} messages`
  return {
    content: [{ type: 'text', text: `A prompt of ${count}, under "structured".` }],
    structured: { messages: messages.data as unknown as Json },
  }
}

/** A copy of the answer as JSON. Throws OutputError. */
export function toPlain(answer: unknown): Json {
  try {
    return toJson(answer)
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error
    throw new OutputError(`returned what is not JSON: ${headOf(error.message, 300)}.`)
  }
}
