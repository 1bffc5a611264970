import { inexactNumber, type Json, type JsonObject } from './json.ts'

/**
 * What is wrong with arguments, in words by which a model sends them again; `undefined` if nothing is. Arguments that are
 * no object of their own arrive as `{ "": raw }` (`ToolCall`). A number that is not the one that was sent is refused:
 * else a person approves, and the tool is given, another one.
 */
export function inputProblem(input: JsonObject): string | undefined {
  const [only, ...others] = Object.keys(input)
  if (only !== '' || others.length > 0) {
    const inexact = inexactNumber(input)
    return inexact === undefined
      ? undefined
      : `"${inexact}" is a number that cannot be kept exactly: send it as text, in quotes, if the tool takes that, or one of at most 9007199254740991.`
  }
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
