import type { RequestClient, Principal } from '#contracts/operations.ts'

/**
 * Limits by the minute, counted before any lookup or write for the request. Each throws `request_rate_limited` with
 * how long to wait. A request that cannot be counted is let in.
 */
export interface RequestLimits {
  /** A key or token that was not accepted yet, by the network it comes from. */
  readonly stranger: (client: RequestClient) => Promise<void>
  /** A request without a key, by the network it comes from. */
  readonly visitor: RequestLimits['stranger']
  readonly request: (principal: Pick<Principal, 'id' | 'role'>) => Promise<void>
  /**
   * A session that is kept for months, by its id. A session counted a while ago in this isolate is not counted again.
   */
  readonly newSession: (principal: Pick<Principal, 'id' | 'role'>, session: string) => Promise<void>
}
