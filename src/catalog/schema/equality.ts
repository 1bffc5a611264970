import type { Json } from '#contracts/json.ts'
import { isObject } from './safe-schema.ts'
import type { Work } from './work.ts'

/** Characters that are compared, or put in a key, for one unit. */
const charsPerUnit = 16

export const spendText = (text: string, { spend }: Work): void =>
  spend(1 + text.length / charsPerUnit)

/** Whether two values are the same JSON. */
export function isSame(one: Json, other: Json, work: Work): boolean {
  work.spend(1)
  if (typeof one === 'string' && typeof other === 'string') {
    if (one.length === other.length) spendText(one, work)
    return one === other
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    const others: readonly Json[] = other
    return (
      one.length === others.length &&
      one.every((item: Json, index) => isSame(item, others[index] ?? null, work))
    )
  }
  if (!isObject(one) || !isObject(other)) return one === other
  const names = Object.keys(one)
  const otherNames = Object.keys(other)
  work.spend(names.length + otherNames.length)
  return (
    names.length === otherNames.length &&
    names.every(
      (name) => Object.hasOwn(other, name) && isSame(one[name] ?? null, other[name] ?? null, work),
    )
  )
}

/** Whether no item is there twice. Costs what the list is long, not what its pairs are many. */
export function isDistinct(items: readonly Json[], work: Work): boolean {
  const seen = new Set<string>()
  for (const item of items) {
    const key = keyOf(item, work)
    if (seen.has(key)) return false
    seen.add(key)
  }
  return true
}

/** The same text for the same JSON, whatever the order of its names. */
function keyOf(value: Json, work: Work): string {
  work.spend(1)
  if (typeof value === 'string') {
    spendText(value, work)
    return JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map((item: Json) => keyOf(item, work)).join()}]`
  if (!isObject(value)) return String(value)
  const names = Object.keys(value).toSorted()
  work.spend(names.length)
  return `{${names.map((name) => `${keyOf(name, work)}:${keyOf(value[name] ?? null, work)}`).join()}}`
}
