import type { Json, JsonObject } from './json.ts'

/**
 * What is wrong with arguments that arrived as `{ "": raw }` (`ToolCall`), in words by which a model sends them again;
 * `undefined` if they are an object of their own.
 */
export function inputProblem(input: JsonObject): string | undefined {
  const [only, ...others] = Object.keys(input)
  if (only !== '' || others.length > 0) return undefined
  const what = kindOf(input['']!)
  return `The arguments are not a JSON object: they are ${what}. Send them by their names, as in {"name": "value"}.`
}

function kindOf(given: Json): string {
  const value = typeof given === 'string' ? parsed(given) : given
  if (value === undefined) return 'a text that is no whole JSON'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
