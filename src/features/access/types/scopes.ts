import type { Role } from '#contracts/keys.ts'
import type { Scope } from '#contracts/scopes.ts'
import { scopes } from '#contracts/scopes.ts'

const isForScope: Readonly<Record<Role, readonly Scope[]>> = {
  user: ['agents', 'approve'],
  auditor: ['audit:read'],
  author: ['agents', 'approve', 'plugins:install'],
  operator: scopes,
}

/** What is worth giving somebody of this role: the rest would open nothing. */
export function scopesOfRole(role: Role): readonly Scope[] {
  return isForScope[role]
}

/**
 * What somebody of this role is while a token speaks for it: no more than the token is for, least of all an operator.
 *
 * @param given Those of the token that the role still has.
 */
export function roleWithin(role: Role, given: readonly Scope[]): Role {
  if (given.includes('operator')) return role
  if (given.includes('plugins:install')) return 'author'
  // Whoever has nothing is of the role that sees the least.
  return given.includes('audit:read') && !given.includes('agents') ? 'auditor' : 'user'
}

/** Whether this is a scope of ours. */
export function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text)
}
