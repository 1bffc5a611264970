import { isJsonObject } from '#contracts/json-object.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { format as formats } from '@cfworker/json-schema'
import {
  findingAt,
  type Finding,
  type Visit,
  findingBeside,
  unseen,
  type Validation,
} from './visit.ts'
import { isSame } from './equality.ts'
import { listFinding, objectFinding } from './evaluate-inside.ts'
import type { SafeSchema } from './safe-schema.ts'
import type { SchemaWork } from './visit.ts'

/** The comparisons of a number with its setting. */
const bounds: readonly (readonly [string, (value: number, setting: number) => boolean])[] = [
  ['minimum', (value, setting) => value < setting],
  ['maximum', (value, setting) => value > setting],
  ['exclusiveMinimum', (value, setting) => value <= setting],
  ['exclusiveMaximum', (value, setting) => value >= setting],
  ['multipleOf', (value, setting) => !isMultiple(value, setting)],
]

/** The first bound that a number breaks. */
function numberFinding(visit: Visit<number>): Finding | undefined {
  const settings = visit.schema as Readonly<Record<string, number | undefined>>
  if (settings['multipleOf'] !== undefined) visit.run.work.spend(divisionCost)
  const broken = bounds.find(([keyword, isBeyond]) => {
    const setting = settings[keyword]
    return setting !== undefined && isBeyond(visit.value, setting)
  })
  return broken && findingAt(visit, broken[0], { setting: settings[broken[0]] })
}

/** The cost of dividing whole numbers of up to 600 digits. */
const divisionCost = 100

/** Computes with the written decimals: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, of: number): boolean {
  if (!Number.isFinite(value) || !Number.isFinite(of) || of <= 0) return false
  const [one, other] = [toDecimal(value), toDecimal(of)]
  const shift = one.exponent - other.exponent
  const scale = 10n ** BigInt(Math.abs(shift))
  return shift >= 0
    ? (one.digits * scale) % other.digits === 0n
    : one.digits % (other.digits * scale) === 0n
}

function toDecimal(value: number): { readonly digits: bigint; readonly exponent: number } {
  const [, whole = '0', fraction = '', exponent = '0'] =
    /^-?(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(value.toExponential()) ?? []
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

/** The first bound or format that a text breaks. `pattern` is not among them (docs/security.md T15). */
function textFinding(visit: Visit<string>): Finding | undefined {
  const { minLength, maxLength, format } = visit.schema
  const { value, run } = visit
  if (minLength !== undefined || maxLength !== undefined) {
    run.work.spend(value.length)
    const length = lengthOf(value)
    if (minLength !== undefined && length < (minLength as number))
      return findingAt(visit, 'minLength', { setting: minLength })
    if (maxLength !== undefined && length > (maxLength as number))
      return findingAt(visit, 'maxLength', { setting: maxLength })
  }
  if (typeof format !== 'string') return undefined
  run.work.spend(formatCost * value.length)
  return formats[format]?.(value) === false
    ? findingAt(visit, 'format', { setting: format })
    : undefined
}

/** An expression looks at a character more than once. */
const formatCost = 2

/** Counts characters, not UTF-16 units. */
function lengthOf(text: string): number {
  let length = 0
  for (const _char of text) length += 1
  return length
}

const visitCost = 50

/**
 * Evaluates JSON Schema 2020-12, and the draft-07 forms still in use: lists of `items`, `additionalItems`. Written here
 * so that each step can be counted: a schema decides how often a value is compared, copied or searched, and a library
 * does not report that. Ends at the first fault.
 *
 * @returns The fault, or undefined. Throws `TooMuchWork`, and other errors for a broken schema.
 */
export function evaluate(
  { root, targets, asksUnevaluated }: SafeSchema,
  value: Json,
  work: SchemaWork,
): Finding | undefined {
  const run: Validation = { targets, asksUnevaluated, work, findingOf }
  return findingOf(root, { value, place: undefined, seen: unseen(run), run })
}

function findingOf(schema: unknown, visit: Omit<Visit, 'schema'>): Finding | undefined {
  visit.run.work.spend(visitCost)
  if (schema === false) return findingAt(visit, 'false')
  // The copy of the schema has checked the type of each setting.
  const { value, place, seen, run } = visit
  const node = { schema: schema as Visit['schema'], value, place, seen, run }
  return run.work.within(() => findingOfNode(node))
}

function findingOfNode(visit: Visit): Finding | undefined {
  const { value } = visit
  const found =
    referenceFinding(visit) ??
    typeFinding(visit) ??
    equalityFinding(visit) ??
    notFinding(visit) ??
    combinationFinding(visit) ??
    conditionFinding(visit)
  if (found) return found
  // Casts, each beside the check that proves it: a copy of the visit would cost more than the evaluation.
  if (Array.isArray(value)) return listFinding(visit as Visit<readonly Json[]>)
  if (isJsonObject(value)) return objectFinding(visit as Visit<JsonObject>)
  if (typeof value === 'number') return numberFinding(visit as Visit<number>)
  if (typeof value === 'string') return textFinding(visit as Visit<string>)
  return undefined
}

function referenceFinding(visit: Visit): Finding | undefined {
  if (visit.schema['$ref'] === undefined) return undefined
  // The target was resolved when the schema was prepared.
  const target = visit.run.targets.get(visit.schema)
  if (target === undefined) throw new Error('A reference leads nowhere.')
  return findingBeside(visit, target)
}

function typeFinding(visit: Visit): Finding | undefined {
  const { type } = visit.schema
  if (type === undefined) return undefined
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  visit.run.work.spend(types.length)
  const is = typeOf(visit.value)
  const isWhole = Number.isInteger(visit.value)
  const fits = types.some((one) => one === is || (one === 'integer' && isWhole))
  return fits ? undefined : findingAt(visit, 'type', { setting: type })
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function equalityFinding(visit: Visit): Finding | undefined {
  const { value, run } = visit
  const { const: only, enum: choices } = visit.schema
  if (only !== undefined && !isSame(value, only as Json, run.work))
    return findingAt(visit, 'const', { setting: only })
  if (choices === undefined) return undefined
  const isOne = (choices as readonly Json[]).some((one) => isSame(value, one, run.work))
  return isOne ? undefined : findingAt(visit, 'enum', { setting: choices })
}

function notFinding(visit: Visit): Finding | undefined {
  const { not } = visit.schema
  if (not === undefined) return undefined
  const found = findingOf(not, { ...visit, seen: unseen(visit.run) })
  return found ? undefined : findingAt(visit, 'not', { setting: not })
}

function combinationFinding(visit: Visit): Finding | undefined {
  const { anyOf, allOf, oneOf } = visit.schema
  if (anyOf === undefined && allOf === undefined && oneOf === undefined) return undefined
  /** How many fit; as far as it matters where nothing is to be remembered of them. */
  const fits = (branches: unknown, enough: number): number => {
    let count = 0
    for (const branch of branches as readonly unknown[]) {
      if (!findingBeside(visit, branch)) count += 1
      if (count >= enough && !visit.seen) break
    }
    return count
  }
  if (anyOf !== undefined && fits(anyOf, 1) === 0)
    return findingAt(visit, 'anyOf', { setting: anyOf })
  for (const branch of (allOf ?? []) as readonly unknown[]) {
    const found = findingBeside(visit, branch)
    if (found) return found
  }
  if (oneOf !== undefined && fits(oneOf, 2) !== 1)
    return findingAt(visit, 'oneOf', { setting: oneOf })
  return undefined
}

function conditionFinding(visit: Visit): Finding | undefined {
  const { if: condition, then, else: otherwise } = visit.schema
  if (condition === undefined) return undefined
  const next = findingBeside(visit, condition) ? otherwise : then
  return next === undefined ? undefined : findingBeside(visit, next)
}
