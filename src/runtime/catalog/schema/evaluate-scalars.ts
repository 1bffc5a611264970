import { format as formats } from '@cfworker/json-schema'
import { findingAt, type Finding, type Visit } from './visit.ts'

/** The comparisons of a number with its setting. */
const bounds: readonly (readonly [string, (value: number, setting: number) => boolean])[] = [
  ['minimum', (value, setting) => value < setting],
  ['maximum', (value, setting) => value > setting],
  ['exclusiveMinimum', (value, setting) => value <= setting],
  ['exclusiveMaximum', (value, setting) => value >= setting],
  ['multipleOf', (value, setting) => !isMultiple(value, setting)],
]

/** The first bound that a number breaks. */
export function numberFinding(visit: Visit<number>): Finding | undefined {
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
export function textFinding(visit: Visit<string>): Finding | undefined {
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
