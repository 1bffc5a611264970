import * as z from 'zod'
import type { OAuthGrant } from '../types/oauth.ts'
import type { Sources } from '#contracts/sources.ts'

/** The fields of the library's grant row in KV that tell whether a code or token may end the grant. */
const record = z.object({
  clientId: z.string(),
  authCodeId: z.string().optional(),
  authCodeWrappedKey: z.string().optional(),
  refreshTokenId: z.string().optional(),
  previousRefreshTokenId: z.string().optional(),
})

/** A code or token that a client sent and the library answered. */
export interface Sent {
  readonly secret: string
  readonly isToken: boolean
  /** The client's own id. The library has verified it. */
  readonly client: string | undefined
}

/**
 * Whether the library has ended this grant. KV may show a deleted grant for a minute more; then the code or token
 * decides, by the rules of the library. One read, whose key is made from the grant: a sent code or token must not
 * choose the row.
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
