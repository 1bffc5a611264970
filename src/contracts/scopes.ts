/** What a token may be for, the least first. None of them gives more than the principal's role does. */
export const scopes = ['agents', 'approve', 'audit:read', 'plugins:install', 'operator'] as const

/**
 * What a client may be allowed in an OAuth sign-in. `approve` opens no route: without it nobody's yes comes with the
 * token, not an operator's either.
 */
export type Scope = (typeof scopes)[number]
