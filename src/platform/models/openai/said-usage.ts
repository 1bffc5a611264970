import { isObject } from './said-json.ts'

/** The tokens that a service counted. */
export interface Tokens {
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * Reads a service's count; `undefined` if it is none. Tokens that are in its sum and not in its output count as
 * output: several services leave thinking out there, and bill it.
 */
export function tokensIn(said: unknown): Tokens | undefined {
  if (!isObject(said)) return undefined
  const usage = said as Record<string, unknown>
  const inputTokens = countOf(usage.prompt_tokens ?? usage.input_tokens)
  if (inputTokens === undefined) return undefined
  const total = countOf(usage.total_tokens)
  const rest = total === undefined ? undefined : Math.max(0, total - inputTokens)
  const output = countOf(usage.completion_tokens ?? usage.output_tokens) ?? rest
  return output === undefined
    ? undefined
    : { inputTokens, outputTokens: Math.max(output, rest ?? 0) }
}

/** Ten times the longest context there is; a figure above it was not counted. */
const maxTokens = 10_000_000

function countOf(value: unknown): number | undefined {
  const isCount = Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= maxTokens
  return isCount ? Number(value) : undefined
}
