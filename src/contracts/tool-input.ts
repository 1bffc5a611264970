import { headOf } from './cut.ts'
import type { JsonObject } from './json.ts'

/**
 * What is wrong with arguments that arrived as `{ "": raw }` (`ToolCall`), in words by which a model sends them again;
 * `undefined` if they are an object of their own.
 */
export function inputProblem(input: JsonObject): string | undefined {
  if (Object.keys(input).join() !== '' || !('' in input)) return undefined
  const raw = typeof input[''] === 'string' ? input[''] : JSON.stringify(input[''])
  const sent = raw === '' ? 'nothing' : headOf(raw, 60)
  return `The arguments are no JSON object but ${sent}; send them by their names, as in {"name": "value"}.`
}
