import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { IsolaError } from '#contracts/errors.ts'
import { isFields } from '#contracts/foreign-json.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { toVisible } from '#contracts/visible-text.ts'
import { maxParts, tooLarge } from './reply-limits.ts'

/** The content of a reply, however its service writes it. */
export interface SaidContent {
  /** Absent: no content. An empty text is content. */
  readonly text?: string
  /** Parts with what the model thought: no part of its answer, and wanted back by services that sign them. */
  readonly thoughts: readonly JsonObject[]
  /** Calls that stand among its parts, as a list of `tool_calls` has them. */
  readonly calls: readonly JsonObject[]
}

const textTypes = new Set(['text', 'output_text', 'input_text', 'summary_text', 'markdown'])
/** `thinking`, `redacted_thinking`, `reasoning`, `reasoning.text`, `thought`, … */
const isThought = /think|reason|thought/i

const nothing: SaidContent = { thoughts: [], calls: [] }

/**
 * Reads the content of a reply or of a piece of it: a text, a list of parts, or one part. A part of a kind that is not
 * known is named in its place. Throws `model_invalid_reply` naming the type of anything else.
 *
 * @param field As the service calls it.
 */
export function readContent(said: unknown, field = 'content'): SaidContent {
  if (said === undefined || said === null) return nothing
  if (typeof said === 'string') return { ...nothing, text: said }
  if (typeof said === 'number' || typeof said === 'boolean')
    return { ...nothing, text: String(said) }
  const parts = partsOf(said)
  if (!parts) {
    const keys = headOf(Object.keys(said).join(', '), 100)
    throw unreadable(`"${field}" as an object with ${keys === '' ? 'no keys' : toVisible(keys)}`)
  }
  if (parts.length > maxParts) throw tooLarge(`${maxParts} parts at once`)
  const texts: string[] = []
  const thoughts: JsonObject[] = []
  const calls: JsonObject[] = []
  for (const part of parts) {
    const call = callIn(part)
    const text = call ? undefined : textOf(part)
    if (call) calls.push(call)
    else if (text !== undefined) texts.push(text)
    else if (isThoughtPart(part)) thoughts.push(part)
    else texts.push(notRead(part))
  }
  return { ...(texts.length > 0 && { text: texts.join('') }), thoughts, calls }
}

/** The error for a reply that is written in a way which is not read. */
export const unreadable = (what: string): IsolaError =>
  new IsolaError('model_invalid_reply', `The model service sent ${what}, which is not read here.`)

/** The JSON type of a value. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value)
    ? 'a list'
    : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}

/** A list of parts, or the one part. Google's own form has the list under `parts`. */
function partsOf(said: object): readonly unknown[] | undefined {
  if (Array.isArray(said)) return said
  const { parts, type, text, content } = said as JsonObject
  if (Array.isArray(parts)) return parts
  const isPart = typeof type === 'string' || isText(text) || isText(content) || callIn(said)
  return isPart ? [said] : undefined
}

/** `tool_use` as Anthropic writes it, `tool-call`, `function_call` of the Responses API, … */
const callTypes = /^(?:tool[-_]?use|tool[-_]?call|function[-_]?call|function)$/i
/** The call inside a part: of Google, of Bedrock. */
const callKeys = ['functionCall', 'function_call', 'toolUse', 'tool_use', 'toolCall', 'tool_call']

/** A part that is a call, in the words of `tool_calls`. A tool that the service itself ran has another type. */
function callIn(part: unknown): JsonObject | undefined {
  if (!isFields(part) || part.thought === true) return undefined
  // Parsed from JSON before.
  const said = part as JsonObject
  const key = callKeys.find((name) => isFields(said[name]))
  if (key !== undefined) {
    const { [key]: inner, type: _type, ...more } = said
    const { id, ...call } = callOf(inner as JsonObject)
    return { ...more, ...defined({ id }), function: call }
  }
  return typeof said.type === 'string' && callTypes.test(said.type) ? callOf(said) : undefined
}

function callOf(said: JsonObject): JsonObject {
  const { id: own, call_id, toolCallId, toolUseId, toolName, name = toolName, ...more } = said
  const id = call_id ?? toolCallId ?? toolUseId ?? own
  return { ...more, ...defined({ id, name }) }
}

const isText = (value: unknown): boolean => typeof value === 'string'

function textOf(part: unknown): string | undefined {
  if (typeof part === 'string') return part
  if (typeof part !== 'object' || part === null) return undefined
  const { type, text, refusal, content, thought } = part as JsonObject
  if (thought === true) return undefined
  if (type === 'refusal' || (type === undefined && isText(refusal)))
    return stringIn(refusal) ?? stringIn(text)
  if (typeof type === 'string' && isThought.test(type)) return undefined
  const isKnown = type === undefined || type === null || textTypes.has(String(type))
  // The text of an unknown part still belongs to the model's answer.
  return stringIn(text) ?? (isKnown ? stringIn(content) : undefined)
}

/** A text, or `{ "value": … }` as the Assistants API writes it. */
function stringIn(text: Json | undefined): string | undefined {
  if (typeof text === 'string') return text
  const isWrapped = typeof text === 'object' && text !== null && 'value' in text
  return isWrapped && typeof text.value === 'string' ? text.value : undefined
}

const isThoughtPart = (part: unknown): part is JsonObject =>
  typeof part === 'object' &&
  part !== null &&
  (('type' in part && typeof part.type === 'string' && isThought.test(part.type)) ||
    ('thought' in part && part.thought === true))

function notRead(part: unknown): string {
  const type =
    typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string'
      ? `"${toVisible(headOf(part.type, 60))}"`
      : typeName(part)
  return `[The model service sent a part that is not shown here: ${type}]`
}
