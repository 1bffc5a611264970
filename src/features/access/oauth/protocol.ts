import * as z from 'zod'
import type { OAuthGrant, GrantStore } from '../types/oauth.ts'
import type { Sources } from '#contracts/sources.ts'
import type { RequestClient } from '#contracts/operations.ts'
import { eventOf, short } from './sign-in.ts'
import type { Identity } from './identity.ts'
import type { Library, Redemption } from './library.ts'
import type { Limit } from './limit.ts'
import type { OriginOf } from './origins.ts'
import { parseProof } from './proof.ts'
import { createRetiredTokens } from './retired-tokens.ts'
import type { StrangersLog } from './strangers-log.ts'

/** The fields of the library's grant row in KV that tell whether a code or token may end the grant. */
const record = z.object({
  clientId: z.string(),
  authCodeId: z.string().optional(),
  authCodeWrappedKey: z.string().optional(),
  refreshTokenId: z.string().optional(),
  previousRefreshTokenId: z.string().optional(),
})

/** A code or token that a client sent and the library answered. */
interface Sent {
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
async function hasEnded(
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

const decoder = new TextDecoder()
/** How long an ended grant stays on the list. */
const keepEndedMs = 30 * 86_400_000
const purgeCursorKey = 'isola:purge-cursor'
/** How many rows of grants, and as many of tokens, a sweep reads from KV. */
const purgeBatch = 50
const purgeRounds = 4

/** Dependencies of the endpoints for tokens and registrations. */
interface ProtocolOptions {
  readonly kv: KVNamespace
  readonly library: Library
  readonly originOf: OriginOf
  readonly grants: GrantStore
  readonly record: StrangersLog
  readonly clock: Sources['clock']
  readonly sha256: Sources['sha256']
  readonly limit: Limit
  readonly onFault: (error: unknown) => void
}

/**
 * The endpoints that programs use: token, revocation, registration and metadata; and the daily upkeep. A refresh token
 * older than the previous one ends its grant.
 */
export function createProtocol(options: ProtocolOptions) {
  const { kv, library, originOf, grants, record, clock, limit, onFault } = options
  const retired = createRetiredTokens(options)

  const end = (
    { id, principal }: OAuthGrant,
    reason: string,
    client: RequestClient,
  ): Promise<void> =>
    grants.revoke(
      id,
      eventOf('oauth_revoked', { principal, nowMs: clock.nowMs(), client }, { grant: id, reason }),
    )

  const forget = async ({ principal, resource, libraryId }: OAuthGrant): Promise<void> => {
    if (libraryId === undefined) return
    const { api } = library(new URL(resource).origin)
    await api.revokeGrant(libraryId, encodeURIComponent(principal)).catch(onFault)
  }

  /**
   * Either the thief of the token or its client shows an old copy: the server cannot tell which, so the whole grant
   * ends.
   */
  const endReplayed = async (token: string, asking: string | undefined, client: RequestClient) => {
    if (!(await retired.has(token))) return
    const grant = await grants.findByLibraryId(token.split(':')[1] ?? '')
    if (!grant || grant.revokedAtMs !== undefined || grant.client !== asking) return
    await end(grant, 'refresh_replayed', client)
    await forget(grant)
  }

  const renew = async (
    token: string,
    about: {
      readonly asking: string | undefined
      readonly client: RequestClient
      readonly ask: () => Promise<Response>
    },
  ): Promise<Response> => {
    const older = await retired.retiredBy(token)
    const response = await about.ask()
    // The client gets its answer in any case.
    if (older !== undefined && response.ok) await retired.add(older).catch(onFault)
    if (response.status === 400) await endReplayed(token, about.asking, about.client)
    return response
  }

  /** If the library ended a grant by itself, the table and the record must say so too. */
  const follow = async (sent: Sent, client: RequestClient): Promise<void> => {
    const [, libraryId, secret] = sent.secret.split(':')
    if (libraryId === undefined || secret === undefined) return
    const grant = await grants.findByLibraryId(libraryId)
    if (!grant || grant.revokedAtMs !== undefined) return
    if (!(await hasEnded(options, grant, sent))) return
    await end(grant, sent.isToken ? 'client' : 'code_replayed', client)
  }

  const registered = async (response: Response, client: RequestClient): Promise<void> => {
    const about: unknown = await response.clone().json()
    const read = (name: string) => short(String(Reflect.get(Object(about), name) ?? ''))
    const data = {
      client: read('client_id'),
      clientName: read('client_name'),
      redirectUris: read('redirect_uris'),
    }
    await record(eventOf('oauth_client_registered', { nowMs: clock.nowMs(), client }, data), client)
  }

  return {
    answer: async (
      request: Request,
      { client, context }: { readonly client: RequestClient; readonly context: ExecutionContext },
    ): Promise<Response | undefined> => {
      const origin = originOf(request.url)
      if (origin === undefined) return undefined
      const { pathname } = new URL(request.url)
      const isPost = request.method === 'POST'
      if (isPost && pathname === '/oauth/register') await limit('clients', client)
      const form =
        isPost && pathname === '/oauth/token'
          ? new URLSearchParams(decoder.decode(await request.clone().arrayBuffer()))
          : undefined
      const asking = form && clientIn(request, form)
      if (form && mayNameDocument(asking)) await limit('documents', client)
      const ask = () => library(origin).fetch(request, context)
      const renewing = form?.get('refresh_token')
      const response = await (renewing ? renew(renewing, { asking, client, ask }) : ask())
      if (isPost && pathname === '/oauth/register' && response.ok)
        await registered(response, client)
      if (form && mayHaveEnded(form, response)) {
        const isToken = form.has('token')
        const secret = form.get(isToken ? 'token' : 'code') ?? ''
        await follow({ secret, isToken, client: asking }, client)
      }
      return response
    },
    forget,
    daily: async (): Promise<void> => {
      try {
        await grants.purge(clock.nowMs() - keepEndedMs)
        const { api } = library('https://isola.invalid')
        for (let round = 0; round < purgeRounds; round += 1) {
          const cursor = await kv.get(purgeCursorKey)
          const done = await api.purgeExpiredData({
            batchSize: purgeBatch,
            ...(cursor !== null && { cursor }),
          })
          if (done.cursor === undefined) return await kv.delete(purgeCursorKey)
          await kv.put(purgeCursorKey, done.cursor)
        }
      } catch (error) {
        onFault(error)
      }
    },
  }
}

/**
 * A revoked token ends its grant, and a code that is used twice ends the grant of its first use. A client that the
 * library does not authenticate ends nothing: the answer is 401.
 */
const mayHaveEnded = (form: URLSearchParams, { ok, status }: Response) =>
  form.has('token') ? ok : form.has('code') && status === 400

/** The client id of a request; `undefined` if it cannot be read. */
function clientIn({ headers }: Request, form: URLSearchParams): string | undefined {
  const basic = /^Basic\s+(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]
  if (basic === undefined) return form.getAll('client_id').find((id) => id !== '')
  try {
    return decodeURIComponent(atob(basic).split(':', 1).join())
  } catch {
    return undefined
  }
}

/** The library fetches the document of a client that is named by an address before it checks anything else. */
const mayNameDocument = (client: string | undefined) => client === undefined || URL.canParse(client)

/** Whether a client gets the tokens it asks for. Asks the table, which knows every end of a grant. */
export function createMayHaveTokens(
  identity: Identity,
  grants: GrantStore,
  clock: Sources['clock'],
) {
  return async ({ isFirst, props, libraryId }: Redemption): Promise<boolean> => {
    const proof = parseProof(props)
    if (!proof || !(await identity.holderOfGrant(proof))) return false
    return !isFirst || grants.redeem(proof.grant, libraryId, clock.nowMs())
  }
}
