import * as z from 'zod'
import type { Sources } from '#contracts/sources.ts'
import { refreshTokenSeconds } from './library.ts'

/** What the library writes of a grant, as far as it tells which refresh tokens are good. */
const record = z.object({
  refreshTokenId: z.string(),
  previousRefreshTokenId: z.string().optional(),
})
/** KV takes no longer names, and tokens of ours are shorter. */
const maxTokenChars = 400

/** Refresh tokens that are good no more: two were used after them. Whoever shows one has a copy (RFC 9700, 4.14.2). */
export interface RetiredTokens {
  /** Names the token that is retired when this one is used now; `undefined` for none. */
  readonly retiredBy: (token: string) => Promise<string | undefined>
  readonly add: (name: string) => Promise<void>
  readonly has: (token: string) => Promise<boolean>
}

/**
 * The library keeps the present token and the one before, which is good until the present one was used. Only what was
 * written down here counts as retired: a token that was made up, or that KV does not know yet, is none.
 */
export function createRetiredTokens({
  kv,
  sha256,
}: Pick<Sources, 'sha256'> & { readonly kv: KVNamespace }): RetiredTokens {
  const keyOf = (name: string) => `isola:retired-refresh:${name}`
  return {
    async retiredBy(token) {
      const [user, libraryId] = token.split(':')
      if (token.length > maxTokenChars || user === undefined || libraryId === undefined)
        return undefined
      const kept = record.safeParse(await kv.get(`grant:${user}:${libraryId}`, 'json')).data
      return kept?.refreshTokenId === sha256(token) ? kept.previousRefreshTokenId : undefined
    },
    add: (name) => kv.put(keyOf(name), '1', { expirationTtl: refreshTokenSeconds }),
    has: async (token) => (await kv.get(keyOf(sha256(token)))) !== null,
  }
}
