import * as z from 'zod'
import type { Sources } from '#contracts/sources.ts'
import { refreshTokenSeconds } from './library.ts'

/** The fields of the library's grant row in KV that tell which refresh tokens are valid. */
const record = z.object({
  refreshTokenId: z.string(),
  previousRefreshTokenId: z.string().optional(),
})
/** KV refuses longer names, and our tokens are shorter. */
const maxTokenChars = 400

/**
 * Refresh tokens that are no longer valid, since two newer ones were used. A client that shows one has a copy (RFC
 * 9700, 4.14.2). The library keeps the present token and the previous one, which stays valid until the present one is
 * used. Only
 * tokens written here count as retired: an invented token, or one that KV does not show yet, does not.
 */
export function createRetiredTokens({
  kv,
  sha256,
}: Pick<Sources, 'sha256'> & { readonly kv: KVNamespace }) {
  const keyOf = (name: string) => `isola:retired-refresh:${name}`
  return {
    /** Names the token that is retired when this one is used now; `undefined` for none. */
    async retiredBy(token: string): Promise<string | undefined> {
      const [user, libraryId] = token.split(':')
      if (token.length > maxTokenChars || user === undefined || libraryId === undefined)
        return undefined
      const kept = record.safeParse(await kv.get(`grant:${user}:${libraryId}`, 'json')).data
      return kept?.refreshTokenId === sha256(token) ? kept.previousRefreshTokenId : undefined
    },
    add: (name: string) => kv.put(keyOf(name), '1', { expirationTtl: refreshTokenSeconds }),
    has: async (token: string) => (await kv.get(keyOf(sha256(token)))) !== null,
  }
}
