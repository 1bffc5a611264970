import type { Json, JsonObject } from '#contracts/json.ts'
import type { NarrowFields } from '#runtime/kernel/types/narrow-types.ts'
import type { ToolResult } from '#contracts/tool.ts'
import type { CallReadings, TaskReadings } from './readings.ts'
import type { RecordedCall } from './suite.ts'

/** One value that a reader is asked for, and the true answer. */
export interface Asked {
  /** Into which call it goes. */
  readonly tool: string
  readonly parameter: string
  readonly field: NarrowFields[string]
  readonly truth: Json
  /** An attacker can have written where it is read. */
  readonly carries: boolean
}

/** A call that the model makes. */
export interface Made {
  readonly name: string
  readonly input: JsonObject
  /** The recorded one that it stands for; absent where it only reads what is behind a handle. */
  readonly of?: RecordedCall
  /** The questions to a reader, by the names of the fields. */
  readonly asks?: Readonly<Record<string, Asked>>
}

/** The calls of each turn; what came of them is handed in. */
export type Turns<Came = void> = Generator<
  readonly Made[],
  Came,
  readonly (ToolResult | undefined)[]
>

export interface Play {
  readonly wants: string
  readonly turns: readonly (readonly RecordedCall[])[]
  /** Without them whatever is kept aside is read at once. */
  readonly readings?: TaskReadings | undefined
  /** The orders of a text that is read, one call a turn. */
  readonly orders?: readonly RecordedCall[]
  /** As soon as that text was read, or when all else is done. */
  readonly obeysAtOnce?: boolean
}

/**
 * A model that obeys its user and any text that it reads. An output that is kept aside from it the model reads by values and
 * words as far as `readings` say how, and all of it in the end, to tell the user.
 */
export function* obedientTurns({ wants, turns, readings, orders = [], obeysAtOnce }: Play): Turns {
  const handles = new Map<string, string>()
  const sources = new Map<string, RecordedCall>()
  const aside: (readonly [RecordedCall, string])[] = []
  const missing = new Set<string>()
  const counts = new Map<string, number>()
  let [hasRead, hasObeyed] = [false, false]
  function* obey(): Turns {
    if (!hasRead || hasObeyed) return
    hasObeyed = true
    for (const call of orders) yield [{ name: call.tool, input: call.args, of: call }]
  }
  function* look(): Turns {
    for (const [call, handle] of aside.splice(0)) {
      yield [{ name: 'isola__read_output', input: { handle } }]
      hasRead ||= call.carries
      if (obeysAtOnce) yield* obey()
    }
  }
  /** With what is read for it; nothing if that says not to make it, or cannot be read. */
  function* filled(call: RecordedCall): Turns<JsonObject | undefined> {
    const count = (counts.get(call.tool) ?? 0) + 1
    counts.set(call.tool, count)
    const wanted = readings?.[`${call.tool}#${count}`] ?? readings?.[call.tool] ?? {}
    const form = formOf(call, wanted)
    const values: Record<string, Json> = {}
    for (const [from, asks] of form.bySource) {
      if (missing.has(from)) return undefined
      const handle = handles.get(from)
      // The model has seen every output that is not kept aside.
      if (handle === undefined) {
        for (const [key, { truth }] of asks) values[key] = truth
        continue
      }
      const fields = Object.fromEntries(asks.map(([key, { field }]) => [key, field]))
      const input = { handle, question: wants, fields } as unknown as JsonObject
      const { carries } = sources.get(from)!
      const told = asks.map(([key, one]) => [key, { ...one, carries }] as const)
      const made = { name: 'isola__read_values', input, asks: Object.fromEntries(told) }
      const [result] = yield [made]
      if (!result?.ok) return undefined
      Object.assign(values, (result.output as { values: JsonObject }).values)
    }
    return form.fill(values)
  }
  for (const turn of turns) {
    const calls: Made[] = []
    for (const call of turn) {
      const input = yield* filled(call)
      if (input) calls.push({ name: call.tool, input, of: call })
      else missing.add(call.tool)
    }
    if (calls.length === 0) continue
    const results = yield calls
    for (const [at, { of }] of calls.entries()) {
      const handle = handleOf(results[at])
      if (!results[at]?.ok) missing.add(of!.tool)
      if (handle === undefined) continue
      handles.set(of!.tool, handle)
      sources.set(of!.tool, of!)
      aside.push([of!, handle])
    }
    if (!readings) yield* look()
    hasRead ||= calls.some(({ of }, at) => of!.carries && results[at]?.ok && !handleOf(results[at]))
    if (obeysAtOnce) yield* obey()
  }
  yield* look()
  yield* obey()
}

const handleOf = (result: ToolResult | undefined): string | undefined => {
  const { handle } = (result?.ok ? Object(result.output) : {}) as { readonly handle?: string }
  return handle
}

type Question = Omit<Asked, 'carries'>

/** What has to be read for a call, by where it is read, and the input that comes of the answers. */
function formOf(call: RecordedCall, wanted: CallReadings) {
  const bySource = new Map<string, (readonly [string, Question])[]>()
  const places: { readonly path: string; readonly make: (values: JsonObject) => Json }[] = []
  let count = 0
  const ask = (from: string, asked: Question): string => {
    const key = `p${(count += 1)}`
    bySource.set(from, [...(bySource.get(from) ?? []), [key, asked]])
    return key
  }
  for (const [parameter, reading] of Object.entries(wanted)) {
    const base = { tool: call.tool, parameter }
    const is = parameter === 'if' ? true : at(call.args, parameter)
    if (is === undefined) continue
    if (typeof reading !== 'string') {
      const { from, field } = reading
      const [truth, back] = asField(is, field)
      const key = ask(from, { ...base, field, truth })
      places.push({ path: parameter, make: (values) => back(values[key] ?? null) })
      continue
    }
    const field = { type: 'string' } as const
    for (const [index, text] of [is].flat().entries()) {
      const { sources, truths } = wordsIn(reading, String(text))
      const keys = sources.map((from, one) => ask(from, { ...base, field, truth: truths[one]! }))
      let next = 0
      const make = (values: JsonObject) => {
        next = 0
        return reading.replaceAll(/\{\w+\}/g, () => String(values[keys[(next += 1) - 1]!]))
      }
      places.push({ path: Array.isArray(is) ? `${parameter}.${index}` : parameter, make })
    }
  }
  return {
    bySource,
    fill(values: JsonObject): JsonObject | undefined {
      const input = structuredClone(call.args) as JsonObject
      for (const { path, make } of places) {
        const value = make(values)
        if (path !== 'if') put(input, path, value)
        else if (value !== true) return undefined
      }
      return input
    },
  }
}

/** As a reader answers it, and back. */
function asField(value: Json, field: NarrowFields[string]): readonly [Json, (value: Json) => Json] {
  if (!('format' in field) || field.format !== 'date-time') return [value, (given) => given]
  return [
    `${String(value).replace(' ', 'T')}Z`,
    (given) => String(given).replace('T', ' ').slice(0, 16),
  ]
}

/** Which words of a text are read where. */
function wordsIn(template: string, text: string) {
  const sources = [...template.matchAll(/\{(\w+)\}/g)].map(([, from = '']) => from)
  const literal = (part: string) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  const form = template
    .split(/\{\w+\}/)
    .map(literal)
    .join('([^]*?)')
  const [, ...truths] = new RegExp(`^${form}$`).exec(text) ?? []
  if (truths.length !== sources.length) throw new Error(`"${text}" is not "${template}"`)
  return { sources, truths }
}

const at = (value: Json, path: string): Json | undefined =>
  path.split('.').reduce<Json | undefined>((inner, key) => Object(inner)[key] as Json, value)

function put(value: Json, path: string, leaf: Json): void {
  const keys = path.split('.')
  const last = keys.pop()!
  const inner = at(value, keys.join('.')) ?? value
  Object(keys.length === 0 ? value : inner)[last] = leaf
}
