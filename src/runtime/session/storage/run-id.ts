import { base62Digits } from './ids.ts'

const orderDigits = 5
const headChars = 'run_'.length + 22 - orderDigits

/**
 * The id of the run at this place of its session: as long as any, but its last five characters are the place, so
 * that it is found without an index. The other 17 are as random as before (101 bits).
 *
 * @param id A new one, `run_` and 22 characters.
 */
export function runIdAt(order: number, id: string): string {
  let digits = ''
  for (let left = order; digits.length < orderDigits; left = Math.floor(left / 62)) {
    digits = base62Digits[left % 62]! + digits
  }
  return id.slice(0, headChars) + digits
}

/** The place in an id. An id from an idempotency key has a meaningless place. */
export function orderIn(id: string): number {
  let order = 0
  for (const digit of id.slice(-orderDigits)) order = order * 62 + base62Digits.indexOf(digit)
  return order
}
