import { lengthPrefixed } from '#contracts/objects.ts'

type Hash = (text: string) => string

const hashOf = (parts: readonly string[], sha256: Hash): string => sha256(lengthPrefixed(parts))

/** The name of the object that holds a session. */
export const objectNameOf = (session: string, sha256: Hash): string =>
  hashOf(['session', session], sha256)

/** The id of a session that its parts name: the same for every attempt. */
export const sessionIdOf = (parts: readonly string[], sha256: Hash): string =>
  `ses_${toBase62(hashOf(parts, sha256))}`

/** The id of the session in which a call of an agent works: what `idFor` gives for the same parts. */
export const childIdOf = (
  of: { readonly session: string; readonly run: string; readonly call: string },
  sha256: Hash,
): string => sessionIdOf(['child', of.session, of.run, of.call], sha256)

/** The id of the run that a principal's key names in a session: the same for every attempt. */
export function keyedRunId(
  of: { readonly session: string; readonly principal: string; readonly key: string },
  sha256: Hash,
): string {
  return `run_${toBase62(sha256(lengthPrefixed([of.session, of.principal, of.key])))}`
}

/** The idempotency key of the run that a call's outcome begins: the same for every attempt. */
export const outcomeKey = (run: string, call: string): string => `outcome:${run}:${call}`

export const base62Digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 22 base62 characters of a hex hash: the form of every session id. */
function toBase62(hex: string): string {
  let value = BigInt(`0x${hex}`)
  let text = ''
  for (let index = 0; index < 22; index += 1) {
    text += base62Digits[Number(value % 62n)]
    value /= 62n
  }
  return text
}

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
