import { isJsonObject } from '#contracts/json-object.ts'
import type { Json } from '#contracts/json.ts'
import { nameCost, type SchemaWork } from './visit.ts'

/** Characters that are compared, or put in a key, for one unit. */
const charsPerUnit = 16
/** A `Set` takes texts a little longer than this for the same when their lengths are, until it has compared them. */
const maxKeyChars = 16_000

/** Charges the reading of a text. */
export const spendText = (text: string, { spend }: SchemaWork): void =>
  spend(1 + text.length / charsPerUnit)

const listCost = 4

/** Whether two values are the same JSON. */
export function isSame(one: Json, other: Json, work: SchemaWork): boolean {
  work.spend(1)
  if (typeof one === 'string' && typeof other === 'string') {
    if (one.length === other.length) spendText(one, work)
    return one === other
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    const others: readonly Json[] = other
    work.spend(listCost)
    return (
      one.length === others.length &&
      one.every((item: Json, index) => isSame(item, others[index] ?? null, work))
    )
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return one === other
  const names = Object.keys(one)
  const otherNames = Object.keys(other)
  work.spend(nameCost * (names.length + otherNames.length))
  return (
    names.length === otherNames.length &&
    names.every(
      (name) => Object.hasOwn(other, name) && isSame(one[name] ?? null, other[name] ?? null, work),
    )
  )
}

/**
 * Whether all items differ. The cost grows with the length of the list, not with the number of pairs, except for long
 * items.
 */
export function isDistinct(items: readonly Json[], work: SchemaWork): boolean {
  const keys = new Set<string>()
  const long: Json[] = []
  for (const item of items) {
    const key = keyOf(item, work)
    if (key.length > maxKeyChars) {
      if (long.some((other) => isSame(item, other, work))) return false
      long.push(item)
    } else {
      if (keys.has(key)) return false
      keys.add(key)
    }
  }
  return true
}

/** The cost of making the key of one value and storing it. */
const keyCost = 10

/** A text that is the same for equal JSON, whatever the order of its names. */
function keyOf(value: Json, work: SchemaWork): string {
  work.spend(keyCost)
  if (typeof value === 'string') {
    spendText(value, work)
    // The length comes first, so that no character of the text needs an escape: escapes are slow to write.
    return `${value.length}"${value}`
  }
  if (Array.isArray(value))
    return `[${joined(
      value.map((item: Json) => keyOf(item, work)),
      work,
    )}]`
  // No bare number as a key: an attacker knows how numbers are hashed, and could make a table collide.
  if (!isJsonObject(value)) return `=${String(value)}`
  const names = Object.keys(value)
  spendSorting(names, work)
  const parts = names
    .toSorted()
    .map((name) => `${keyOf(name, work)}:${keyOf(value[name] ?? null, work)}`)
  return `{${joined(parts, work)}}`
}

/** Copies the parts, each of which holds copies already. */
function joined(parts: readonly string[], work: SchemaWork): string {
  const text = parts.join()
  spendText(text, work)
  return text
}

function spendSorting(names: readonly string[], { spend }: SchemaWork): void {
  const chars = names.reduce((sum, name) => sum + name.length, 0)
  const rounds = Math.ceil(Math.log2(names.length + 1))
  spend(nameCost * names.length + rounds * (names.length + chars / charsPerUnit))
}
