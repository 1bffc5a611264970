import type { GrantStore, OAuthGrant, OAuthService } from '../types/oauth.ts'
import type { Client } from '#contracts/operations.ts'
import type { Sources } from '#contracts/sources.ts'
import { eventOf, short } from './grant-record.ts'
import type { Identity } from './identity.ts'
import { hasEnded, type Sent } from './kept-grant.ts'
import type { Library, Redemption } from './library.ts'
import type { Limit } from './limit.ts'
import type { OriginOf } from './origins.ts'
import { parseProof } from './proof.ts'
import { createRetiredTokens } from './retired-tokens.ts'
import type { StrangersLog } from './strangers-log.ts'

const decoder = new TextDecoder()
/** A grant that has ended stays on the list that long. */
const keepEndedMs = 30 * 86_400_000
const purgeCursorKey = 'isola:purge-cursor'
/** One sweep is at most so many reads of KV for grants, and as many for tokens. */
const purgeBatch = 50
const purgeRounds = 4

/** What the endpoints for tokens and registrations are made of. */
export interface ProtocolOptions {
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

/** What programs ask of the authorization server, and what is to be done besides answering. */
export interface Protocol extends Pick<OAuthService, 'daily'> {
  readonly answer: OAuthService['protocol']
  readonly forget: (grant: OAuthGrant) => Promise<void>
}

/**
 * The endpoints that programs use: token, revocation, registration and metadata. A refresh token that is older than
 * the one before ends its grant.
 */
export function createProtocol(options: ProtocolOptions): Protocol {
  const { kv, library, originOf, grants, record, clock, limit, onFault } = options
  const retired = createRetiredTokens(options)

  const end = ({ id, principal }: OAuthGrant, reason: string, client: Client): Promise<void> =>
    grants.revoke(
      id,
      eventOf('oauth_revoked', { principal, nowMs: clock.nowMs(), client }, { grant: id, reason }),
    )

  const forget: Protocol['forget'] = async ({ principal, resource, libraryId }) => {
    if (libraryId === undefined) return
    const { api } = library(new URL(resource).origin)
    await api.revokeGrant(libraryId, encodeURIComponent(principal)).catch(onFault)
  }

  /** Whoever copied it, or whom it was copied from: nobody can tell, so everything of the grant ends. */
  const endReplayed = async (token: string, asking: string | undefined, client: Client) => {
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
      readonly client: Client
      readonly ask: () => Promise<Response>
    },
  ): Promise<Response> => {
    const older = await retired.retiredBy(token)
    const response = await about.ask()
    // Its client gets the answer in any case.
    if (older !== undefined && response.ok) await retired.add(older).catch(onFault)
    if (response.status === 400) await endReplayed(token, about.asking, about.client)
    return response
  }

  /** The library ended a grant by itself: the table and the record are to say so too. */
  const follow = async (sent: Sent, client: Client): Promise<void> => {
    const [, libraryId, secret] = sent.secret.split(':')
    if (libraryId === undefined || secret === undefined) return
    const grant = await grants.findByLibraryId(libraryId)
    if (!grant || grant.revokedAtMs !== undefined) return
    if (!(await hasEnded(options, grant, sent))) return
    await end(grant, sent.isToken ? 'client' : 'code_replayed', client)
  }

  const registered = async (response: Response, client: Client): Promise<void> => {
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
    async answer(request, { client, context }) {
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
    async daily() {
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
 * A token that was given back ends its grant, and a code that is used twice what it gave the first time. Nobody ends
 * anything whom the library does not take for the client: that is 401.
 */
const mayHaveEnded = (form: URLSearchParams, { ok, status }: Response) =>
  form.has('token') ? ok : form.has('code') && status === 400

/** Whom a client says it is; `undefined` where that is not plain to see. */
function clientIn({ headers }: Request, form: URLSearchParams): string | undefined {
  const basic = /^Basic\s+(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]
  if (basic === undefined) return form.getAll('client_id').find((id) => id !== '')
  try {
    return decodeURIComponent(atob(basic).split(':', 1).join())
  } catch {
    return undefined
  }
}

/** A client that is named by an address has that address asked before anything else is looked at. */
const mayNameDocument = (client: string | undefined) => client === undefined || URL.canParse(client)

/** Whether somebody who came for tokens gets them: asked of the table, which knows of every end. */
export function createMayHaveTokens(
  identity: Identity,
  grants: GrantStore,
  clock: Pick<Sources['clock'], 'nowMs'>,
) {
  return async ({ isFirst, props, libraryId }: Redemption): Promise<boolean> => {
    const proof = parseProof(props)
    if (!proof || !(await identity.holderOfGrant(proof))) return false
    return !isFirst || grants.redeem(proof.grant, libraryId, clock.nowMs())
  }
}
