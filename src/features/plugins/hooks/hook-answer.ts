import { headOf } from '#contracts/cut.ts'
import * as z from 'zod'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { HookPoint } from '#runtime/catalog/types/permit.ts'
import type { HookOutcome } from '../sandbox/hook-batch.ts'

/** A plugin's parsed answer about one event. */
export type HookSaid =
  | { readonly verdict: 'allow' }
  | { readonly verdict: 'vetoed'; readonly message: string }
  | { readonly verdict: 'changed'; readonly change: HookChange }
  | { readonly verdict: 'failed' }

/** A hook's change, checked against what its point may change. */
export interface HookChange {
  readonly input?: JsonObject
  readonly result?: Json
  readonly text?: string
}

const veto = z.string().transform((text) => headOf(text, maxVetoChars))
const input = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)
const result = z.custom<Json>((value) => value !== undefined)
const text = z.string().max(20_000)

const maxVetoChars = 500
const nothing = z.strictObject({})

/** The answers each point allows; any other answer is invalid. */
const answers: Readonly<Record<HookPoint, z.ZodType>> = {
  sessionStart: nothing,
  sessionEnd: nothing,
  sessionReset: nothing,
  beforeDispatch: z.strictObject({ veto: veto.optional() }),
  beforeModelCall: z.strictObject({ veto: veto.optional(), text: text.optional() }),
  afterModelCall: nothing,
  beforeToolCall: z.strictObject({ veto: veto.optional(), input: input.optional() }),
  afterToolCall: z.strictObject({ veto: veto.optional(), result: result.optional() }),
  subAgentStop: nothing,
}

/** No answer lets the event pass unchanged; a veto wins over a change. */
export function readHookAnswer(on: HookPoint, outcome: HookOutcome): HookSaid {
  if ('failed' in outcome) return { verdict: 'failed' }
  if (outcome.answer === null) return { verdict: 'allow' }
  const read = answers[on].safeParse(outcome.answer)
  if (!read.success) return { verdict: 'failed' }
  const { veto: message, ...change } = read.data as HookChange & { readonly veto?: string }
  if (message !== undefined) return { verdict: 'vetoed', message }
  return Object.keys(change).length > 0 ? { verdict: 'changed', change } : { verdict: 'allow' }
}
