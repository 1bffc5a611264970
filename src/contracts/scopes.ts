import type { Role } from './keys.ts'

/** What a token may be for, the least first. None of them gives more than the principal's role does. */
export const scopes = ['agents', 'approve', 'audit:read', 'plugins:install', 'operator'] as const

/**
 * What a client may be allowed in an OAuth sign-in. `approve` opens no route: without it nobody's yes comes with the
 * token, not an operator's either.
 */
export type Scope = (typeof scopes)[number]

/** What a client gets that asks for nothing by name. */
export const baselineScope: Scope = 'agents'

const scopeOfRole: Readonly<Record<Role, Scope>> = {
  user: 'agents',
  auditor: 'audit:read',
  author: 'plugins:install',
  operator: 'operator',
}
const isForScope: Readonly<Record<Role, readonly Scope[]>> = {
  user: ['agents', 'approve'],
  auditor: ['audit:read'],
  author: ['agents', 'approve', 'plugins:install'],
  operator: scopes,
}

/** The scopes of which a token needs one where these roles may come in, the least first. */
export function scopesFor(allowed: readonly Role[]): readonly Scope[] {
  // Whoever may talk to agents does so by the scope for that alone, whatever else its role may.
  const roles = allowed.includes('user') ? allowed.filter((role) => role !== 'author') : allowed
  return scopes.filter((scope) => roles.some((role) => scopeOfRole[role] === scope))
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
