import type { Scope, Role } from '#contracts/keys.ts'
import { scopes } from '#contracts/keys.ts'

/** The scope of a client that asks for none by name. */
export const baselineScope: Scope = 'agents'

const scopeOfRole: Readonly<Record<Role, Scope>> = {
  user: 'agents',
  auditor: 'audit:read',
  author: 'plugins:install',
  operator: 'operator',
}

/** The scopes of which a token needs one where these roles may come in, the least first. */
export function scopesFor(allowed: readonly Role[]): readonly Scope[] {
  // A route that users may call needs the scope for that alone, whatever else the role may do.
  const roles = allowed.includes('user') ? allowed.filter((role) => role !== 'author') : allowed
  return scopes.filter((scope) => roles.some((role) => scopeOfRole[role] === scope))
}
