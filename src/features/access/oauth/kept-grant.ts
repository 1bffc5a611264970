import * as z from 'zod'
import type { OAuthGrant } from '../types/oauth.ts'
import type { Sources } from '#contracts/sources.ts'

/** What the library writes of a grant, as far as it tells whether a code or token may end it. */
const record = z.object({
  clientId: z.string(),
  authCodeId: z.string().optional(),
  authCodeWrappedKey: z.string().optional(),
  refreshTokenId: z.string().optional(),
  previousRefreshTokenId: z.string().optional(),
})

/** What a client sent that the library answered. */
export interface Sent {
  readonly secret: string
  readonly isToken: boolean
  /** Whom the client says it is. The library found that to be true. */
  readonly client: string | undefined
}

/**
 * Whether the library has ended this grant. What it deleted KV may show for a minute more: then the code or token tells,
 * by the rules of the library. One read, and its key comes of the grant: what was sent says nothing about whose it is.
 */
export async function hasEnded(
  { kv, sha256 }: Pick<Sources, 'sha256'> & { readonly kv: KVNamespace },
  { principal, libraryId }: OAuthGrant,
  { secret, isToken, client }: Sent,
): Promise<boolean> {
  const value: unknown = await kv.get(`grant:${encodeURIComponent(principal)}:${libraryId}`, 'json')
  if (value === null) return true
  const kept = record.safeParse(value).data
  if (!kept || kept.clientId !== client) return false
  const hash = sha256(secret)
  if (isToken) return kept.refreshTokenId === hash || kept.previousRefreshTokenId === hash
  return kept.authCodeId === hash && kept.authCodeWrappedKey === undefined
}
