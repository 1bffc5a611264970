import type { Client, Principal } from '#contracts/operations.ts'

/**
 * Turns an `Authorization` header into a principal. Throws `request_unauthenticated` (missing, wrong, expired and
 * revoked alike), `request_login_limited` (after too many wrong ones from an address), `request_rate_limited` (too many
 * that are not known), `request_unavailable` (keys cannot be looked up; the operator key works) or
 * `request_auth_not_configured`.
 */
export type Authenticate = (
  authorization: string | undefined,
  client?: Client,
) => Promise<Principal>
