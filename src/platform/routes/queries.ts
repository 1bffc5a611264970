import { IsolaError } from '#contracts/errors.ts'
import type { Role } from '#contracts/keys.ts'
import type { Principal } from '#contracts/operations.ts'

/** So many rows a page has where a list query names no limit. */
export const defaultListLimit = 100

/** A day in milliseconds. */
export const dayMs = 86_400_000
/** The longest time that a figure is asked for at once: 31 days. */
export const maxWindowMs = 31 * dayMs

/** In the place of a principal: the rows of every principal. */
const everyPrincipal = '*'

/** Operators and auditors see the sessions, rules, schedules and runs of every principal. */
export const seesEverybody = (role: Role): boolean => role === 'operator' || role === 'auditor'

/**
 * The principal whose rows a list has: the caller; an auditor, who has none, reads the rows of every principal.
 *
 * @param wanted A principal, or `*` for all.
 * @param what The rows, as the refusal names them.
 * @returns `undefined` for all.
 */
export function ofCallers(
  { id, role }: Pick<Principal, 'id' | 'role'>,
  wanted: string | undefined,
  what: string,
): { readonly principal?: string } {
  const principal = wanted ?? (role === 'auditor' ? everyPrincipal : id)
  if (principal !== id && !seesEverybody(role)) {
    throw new IsolaError(
      'request_forbidden',
      `principal: only operators and auditors see the ${what} of others; leave it out.`,
      { param: 'principal' },
    )
  }
  return principal === everyPrincipal ? {} : { principal }
}
