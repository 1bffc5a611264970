import { defined } from '#contracts/defined.ts'
import { headOf, tailOf } from '#contracts/cut.ts'
import type { ParsedBlock } from '#features/plugins/types/content.ts'
import { fieldsOf } from './types.ts'
import { isFields } from '#contracts/foreign-json.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { ToolFailure, ToolResult } from '#contracts/tool.ts'
import { readBlocks } from './read-blocks.ts'

const maxMessageChars = 2_000
const maxOutputChars = 1024 * 1024

/** A server's answer to a tool call as a rich output, or a failure with the server's own words, capped. */
export function toToolOutcome(result: unknown, name: string): ToolResult {
  const { content, structuredContent, isError, _meta: meta, ...more } = fieldsOf(result)
  const { resultType: _known, ...others } = more
  const isEmpty = content === undefined && structuredContent === undefined
  // An answer outside of the protocol's form still counts as an answer.
  const rest = isFields(result) ? others : { result }
  const said = isEmpty && Object.keys(rest).length > 0 ? JSON.stringify(rest) : content
  if (typeof said === 'number' || typeof said === 'boolean')
    return failure(`The tool ${name} answered, but its content is no list.`)
  const blocks = readBlocks(said)
  if (isError === true || isError === 'true' || isError === 1)
    return failure(reasonOf(blocks, structuredContent, meta) || `The tool ${name} failed.`)
  return rich(blocks, structuredContent as Json | undefined, name)
}

/** A resource's contents as embedded resources. */
export function toResourceOutcome(result: unknown, name: string): ToolResult {
  const { contents, content = contents } = fieldsOf(result)
  const list = Array.isArray(content) ? (content as readonly unknown[]) : [content ?? []].flat()
  const blocks = list.map((one) =>
    typeof one === 'string' ? one : { type: 'resource', resource: one },
  )
  return rich(readBlocks(blocks), undefined, name)
}

/** A prompt's messages, and their text to read. */
export function toPromptOutcome(result: unknown, name: string): ToolResult {
  const { messages } = fieldsOf(result)
  const list = (Array.isArray(messages) ? (messages as readonly unknown[]) : []).flatMap((one) => {
    const { role, content = one } = fieldsOf(one)
    const who = role === 'assistant' ? role : 'user'
    return readBlocks(typeof one === 'string' ? one : content).map((block) => ({
      role: who,
      content: block,
    }))
  })
  const blocks = list.map(({ content }) => content)
  // Read above: JSON and nothing else.
  return rich(blocks, { messages: list } as unknown as JsonObject, name)
}

/** Why it failed, wherever a server says so: in texts and resources, in what is structured, or beside both. */
function reasonOf(blocks: readonly ParsedBlock[], structured: unknown, meta: unknown): string {
  const said = blocks.map(textOf).filter(Boolean).join('\n')
  const own = Object.entries(fieldsOf(meta)).filter(
    ([key]) => !key.includes('modelcontextprotocol'),
  )
  const parts = [
    said,
    isSaid(structured, said) ? '' : JSON.stringify(structured),
    own.length === 0 ? '' : JSON.stringify(Object.fromEntries(own)),
  ].filter((part) => part !== '')
  // Each has its share: a long text must not push out the reason behind it.
  const share = Math.floor(maxMessageChars / Math.max(1, parts.length)) - 1
  const unused = parts.reduce((sum, { length }) => sum + Math.max(0, share - length), 0)
  const long = parts.filter(({ length }) => length > share).length
  const most = share + Math.floor(unused / Math.max(1, long))
  return parts.map((part) => withEnd(part, most)).join('\n')
}

/** The cause is often the last line. */
function withEnd(text: string, maxChars: number): string {
  const half = Math.floor(maxChars / 2) - 2
  return text.length <= maxChars ? text : `${headOf(text, half)} … ${tailOf(text, half)}`
}

/** Servers often write the same into a text. */
function isSaid(structured: unknown, said: string): boolean {
  if (structured === undefined) return true
  try {
    return JSON.stringify(JSON.parse(said)) === JSON.stringify(structured)
  } catch {
    return said.includes(JSON.stringify(structured))
  }
}

function textOf(block: ParsedBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'resource':
      return 'text' in block.resource ? block.resource.text : `[${block.resource.uri}]`
    case 'resource_link':
      return [block.uri, block.title ?? block.name, block.description].filter(Boolean).join(' ')
    default:
      return `[${block.type} ${block.mimeType}]`
  }
}

function rich(
  blocks: readonly ParsedBlock[],
  structured: Json | undefined,
  name: string,
): ToolResult {
  const content: readonly ParsedBlock[] = blocks.length > 0 ? blocks : [{ type: 'text', text: '' }]
  const output = { content, ...defined({ structured }) }
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
