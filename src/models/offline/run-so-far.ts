import type { Json, JsonObject } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import { isJsonObject } from './schema-shape.ts'

/** Names of the two tools behind which everything else is found. */
export const findName = 'isola__find'
export const callName = 'isola__call'

/** A call this run has made, with what came back. */
export interface MadeCall {
  readonly name: string
  readonly input: JsonObject
  readonly result: { readonly output: Json; readonly isError: boolean } | undefined
}

/** The current task and what was done for it: everything after the last user message. */
export interface RunSoFar {
  readonly task: string
  readonly calls: readonly MadeCall[]
}

export function readRun(messages: readonly Message[]): RunSoFar {
  const start = messages.findLastIndex(({ role }) => role === 'user')
  const asked = messages[start]
  const since = messages.slice(start + 1)
  const results = new Map(
    since.flatMap((message) =>
      message.role === 'tool' ? [[message.callId, message] as const] : [],
    ),
  )
  const calls = since.flatMap((message) =>
    message.role === 'assistant'
      ? (message.toolCalls ?? []).map(({ id, name, input }) => ({
          name,
          input,
          result: results.get(id),
        }))
      : [],
  )
  return { task: asked?.role === 'user' ? asked.text : '', calls }
}

/** A result as a later step may use it: the text in it, if it is about one text, else the JSON. */
export function textOfOutput(output: Json): string {
  if (typeof output === 'string') return output
  if (isJsonObject(output)) {
    for (const name of ['text', 'content', 'result', 'answer', 'summary', 'value']) {
      const part = output[name]
      if (typeof part === 'string' && part !== '') return part
    }
  }
  return JSON.stringify(output)
}

/** What a search answered, whatever its list is called. */
export function listedIn(output: Json | undefined): readonly JsonObject[] {
  const lists: readonly Json[] = isJsonObject(output) ? Object.values(output) : []
  return lists.filter(Array.isArray).flat().filter(isJsonObject)
}
