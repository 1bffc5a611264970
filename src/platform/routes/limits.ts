import type * as z from 'zod'
import type { runLimits } from '#contracts/limits.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ModelParameters } from '#contracts/model.ts'
import type { Targets } from './targets.ts'

type Given = {
  readonly [Name in keyof ModelParameters]?: ModelParameters[Name] | null | undefined
}

/** The parameters of a request body under our names; a field that is `null` is left out. */
export const toParameters = (given: Given): ModelParameters =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value != null)) // the same names

/** The usual size of an agent's first model call: instructions and tools as they ship, and an answer of some length. */
const usualCall = { inputTokens: 1_800, outputTokens: 2_048 }
/** The least with which one is made at all. */
const leastCall = { inputTokens: 1_800, outputTokens: 256 }

interface SmallLimits {
  readonly tokens?: { readonly field: string; readonly limit: number | null | undefined }
  readonly costUsd?: { readonly field: string; readonly limit: number | null | undefined }
}

/** `warnings` of an answer about limits that are under one model call; `undefined` without any. */
export function warningsOf(deps: Pick<Targets, 'models'>, { tokens, costUsd }: SmallLimits) {
  const price = deps.models.status()[0]?.price
  const costOf = (call: typeof usualCall) =>
    price
      ? (call.inputTokens * price.inputUsdPerMillion +
          call.outputTokens * price.outputUsdPerMillion) /
        1e6
      : 0
  const warnings = [
    ...smallIn(tokens, sumOf(usualCall), sumOf(leastCall), (amount) => `${amount} tokens`),
    ...smallIn(costUsd, costOf(usualCall), costOf(leastCall), inDollars),
  ]
  return warnings.length > 0 ? { warnings } : {}
}

function smallIn(
  given: SmallLimits['tokens'],
  usual: number,
  least: number,
  textOf: (amount: number) => string,
): readonly string[] {
  const { field = '', limit } = given ?? {}
  if (limit === null || limit === undefined || limit >= usual) return []
  const about =
    `${field}: ${textOf(limit)} is under one model call, which may take about ` +
    `${textOf(usual)} with an answer of 2,048.`
  return [
    limit < least
      ? `${about} Under about ${textOf(least)} nothing is answered.`
      : `${about} Answers are cut short, and there may be only one.`,
  ]
}

const sumOf = ({ inputTokens, outputTokens }: typeof usualCall) => inputTokens + outputTokens
const inDollars = (amount: number) => `$${Number(amount.toPrecision(3))}`

const nanoPerUsd = 1e9

/** `undefined` if nothing is limited, so that `{}` and no `limits` are the same request. */
export function toLimits(
  asked: z.infer<typeof runLimits> | undefined,
): Partial<Limits> | undefined {
  const { maxCostUsd, maxPlatformUsd, ...rest } = asked ?? {}
  const given = Object.entries({
    ...rest,
    ...(maxCostUsd !== undefined && { maxCostNanoUsd: Math.round(maxCostUsd * nanoPerUsd) }),
    ...(maxPlatformUsd !== undefined && {
      maxPlatformNanoUsd: Math.round(maxPlatformUsd * nanoPerUsd),
    }),
  }).filter(([, value]) => value !== undefined)
  return given.length === 0 ? undefined : Object.fromEntries(given) // the same names, checked above
}
