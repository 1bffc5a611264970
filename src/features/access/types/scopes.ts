import type { Role, Scope } from '#contracts/keys.ts'
import { scopes } from '#contracts/keys.ts'

const isForScope: Readonly<Record<Role, readonly Scope[]>> = {
  user: ['agents', 'approve'],
  auditor: ['audit:read'],
  author: ['agents', 'approve', 'plugins:install'],
  operator: scopes,
}

/** The scopes that are of use to this role: the others would open nothing. */
export function scopesOfRole(role: Role): readonly Scope[] {
  return isForScope[role]
}

/**
 * The role that a principal has while a token speaks for it: never more than the token's scopes, least of all an
 * operator.
 *
 * @param given The scopes of the token that the role still has.
 */
export function roleWithin(role: Role, given: readonly Scope[]): Role {
  if (given.includes('operator')) return role
  if (given.includes('plugins:install')) return 'author'
  // Without any scope: the role that sees the least.
  return given.includes('audit:read') && !given.includes('agents') ? 'auditor' : 'user'
}

export function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text)
}
