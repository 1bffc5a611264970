import type { Json, JsonSchema } from '#contracts/json.ts'
import { literalsIn } from './literals.ts'
import { queryNames } from './parameter-names.ts'
import { phraseValue, shown, type Passage } from './phrases.ts'
import { isJsonObject, toValue, typeOf } from './schema-shape.ts'

/** The first of the allowed values that is said as a word. */
export function mentionedEnum(
  values: readonly Json[],
  { text, literals }: Passage,
): Json | undefined {
  const words = ` ${shown(text, literals)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_-]+/gu, ' ')} `
  return values
    .map((value) => ({ value, at: words.indexOf(` ${String(value).toLowerCase()} `) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, z) => a.at - z.at)[0]?.value
}

/** A flag is set by being named: "recursive", "without headers". */
export function flagFor(name: string, text: string): boolean | undefined {
  const spoken = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[_-]/g, ' ')
    .toLowerCase()
  const words = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}']+/gu, ' ')} `
  const at = words.indexOf(` ${spoken} `)
  if (at < 0 || spoken.length < 4) return undefined
  return !/ (?:no|not|without|don't|never|disable)(?: the)?$/.test(
    words.slice(Math.max(0, at - 20), at),
  )
}

export function firstNumber(
  schema: JsonSchema,
  words: string,
  used: readonly Json[],
): number | undefined {
  return words
    .split(/[^\p{L}\p{N}.+_,-]+/u)
    .map((word) => toValue(schema, word.replace(/[.,]+$/, '')))
    .find((value): value is number => typeof value === 'number' && !used.includes(value))
}

export function listFor(
  name: string,
  schema: JsonSchema,
  { text, literals }: Passage,
): Json | undefined {
  const { items } = schema
  const inside = literalsIn(text, literals).filter(
    ({ kind }) => kind === 'quote' || kind === 'code' || kind === 'url',
  )
  if (inside.length > 0) return inside.map(({ text: inner }) => inner)
  if (isJsonObject(items) && typeOf(items) === 'object') return undefined
  const about = /(?::| (?:for|of|about)) (.+)$/i.exec(text)?.[1]
  if (about !== undefined) return toValue(schema, phraseValue(about, literals))
  return queryNames.test(name.replace(/ies$/, 'y').replace(/s$/, ''))
    ? [shown(text, literals)]
    : undefined
}
