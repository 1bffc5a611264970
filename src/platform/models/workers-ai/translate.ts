import type { Translate } from '../openai/request-once.ts'

/**
 * Older models on Workers AI answer in a form of their own, `{ response, tool_calls, usage }`, whole or in pieces; the
 * newer ones in OpenAI's. Anything else is handed on as it is.
 */
export const fromWorkersAi: Translate = (said) => {
  if (!isRecord(said) || Array.isArray(said.choices)) return said
  if (said.response === undefined && said.tool_calls === undefined) return said
  const calls = Array.isArray(said.tool_calls) ? said.tool_calls.map(toCall) : []
  const words = { content: textOf(said.response), tool_calls: calls }
  // The last piece is the one that counts; a whole reply counts too.
  const isLast = isRecord(said.usage) || typeof said.finish_reason === 'string'
  const finish_reason = isLast ? (said.finish_reason ?? 'stop') : null
  return { choices: [{ delta: words, message: words, finish_reason }], usage: said.usage }
}

/** With a JSON schema asked for, some models give the object itself. */
function textOf(response: unknown): string | null {
  if (typeof response === 'string') return response
  return response === undefined || response === null ? null : JSON.stringify(response)
}

/** A call comes whole, its arguments as an object. */
function toCall(call: unknown, index: number): object {
  const { id, name, function: inner, arguments: given } = isRecord(call) ? call : {}
  const part = isRecord(inner) ? inner : { name, arguments: given }
  const json = typeof part.arguments === 'string' ? part.arguments : JSON.stringify(part.arguments)
  return { index, id, type: 'function', function: { name: part.name, arguments: json ?? '' } }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
