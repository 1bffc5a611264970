import type { Client, Principal } from '#contracts/operations.ts'

/**
 * What may be asked in a minute, counted before anything is looked up or made for it. Each throws
 * `request_rate_limited` with how long to wait. Whoever cannot be counted is let in.
 */
export interface RequestLimits {
  /** A key or token that nobody was let in with yet, by the network that it comes from. */
  readonly stranger: (client: Client) => Promise<void>
  /** What anybody may ask without a key, by the network that it comes from. */
  readonly visitor: RequestLimits['stranger']
  readonly request: (principal: Pick<Principal, 'id' | 'role'>) => Promise<void>
  /** A session that is kept for months, by its id. One that was counted here a while ago counts no more. */
  readonly newSession: (principal: Pick<Principal, 'id' | 'role'>, session: string) => Promise<void>
}
