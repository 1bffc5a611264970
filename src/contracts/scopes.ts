/** The scopes of a token, the least first. No scope gives more than the principal's role does. */
export const scopes = ['agents', 'approve', 'audit:read', 'plugins:install', 'operator'] as const

/**
 * What a client may be allowed in an OAuth sign-in. `approve` opens no route: without it the token can approve no
 * call, not even an operator's token.
 */
export type Scope = (typeof scopes)[number]
