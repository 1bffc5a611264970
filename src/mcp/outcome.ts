import { headOf } from '#contracts/cut.ts'
import { contentBlockSchema, type ContentBlock } from '#contracts/content.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { ToolFailure, ToolResult } from '#contracts/tool.ts'

const maxMessageChars = 2_000
const maxOutputChars = 1024 * 1024

/** What a server answered to a tool call, as every tool answers: a rich output, or a failure with its own words capped. */
export function toToolOutcome(result: unknown, name: string): ToolResult {
  const { content, structuredContent, isError } = Object(result) as Readonly<
    Record<string, unknown>
  >
  const blocks = toBlocks(content)
  if (isError === true) return failure(textOf(blocks) || `The tool ${name} failed.`)
  return rich(blocks, structuredContent as Json | undefined, name)
}

/** Of a resource: its contents as embedded resources. */
export function toResourceOutcome(result: unknown, name: string): ToolResult {
  const { contents } = Object(result) as Readonly<Record<string, unknown>>
  const list = Array.isArray(contents) ? (contents as readonly unknown[]) : []
  return rich(toBlocks(list.map((resource) => ({ type: 'resource', resource }))), undefined, name)
}

/** Of a prompt: its messages as they are, and their text to read. */
export function toPromptOutcome(result: unknown, name: string): ToolResult {
  const { messages } = Object(result) as Readonly<Record<string, unknown>>
  const list = (Array.isArray(messages) ? (messages as readonly unknown[]) : []).flatMap((one) => {
    const { role, content } = Object(one) as Readonly<Record<string, unknown>>
    const parsed = contentBlockSchema.safeParse(content)
    return parsed.success && (role === 'user' || role === 'assistant')
      ? [{ role, content: parsed.data }]
      : []
  })
  const blocks = list.map(({ content }) => content)
  // Parsed above: JSON and nothing else.
  return rich(blocks, { messages: list } as unknown as JsonObject, name)
}

function toBlocks(content: unknown): readonly ContentBlock[] {
  const list = Array.isArray(content) ? (content as readonly unknown[]) : []
  return list.flatMap((block) => {
    const parsed = contentBlockSchema.safeParse(block)
    return parsed.success ? [parsed.data] : []
  })
}

const textOf = (blocks: readonly ContentBlock[]): string =>
  headOf(
    blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n'),
    maxMessageChars,
  )

function rich(
  blocks: readonly ContentBlock[],
  structured: Json | undefined,
  name: string,
): ToolResult {
  const content: readonly ContentBlock[] = blocks.length > 0 ? blocks : [{ type: 'text', text: '' }]
  const output = { content, ...(structured !== undefined && { structured }) }
  const text = JSON.stringify(output)
  if (text.length > maxOutputChars)
    return failure(`The tool ${name} answered more than 1 MiB of JSON.`)
  return { ok: true, output: JSON.parse(text) as Json }
}

/** A failed result; `tool_failed` unless it says otherwise. */
export const failure = (message: string, more: Partial<ToolFailure> = {}): ToolResult => ({
  ok: false,
  error: { code: 'tool_failed', message: headOf(message, maxMessageChars), ...more },
})
