import { defined } from '#contracts/defined.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { DeploymentEvent, DeploymentLog } from '#contracts/event.ts'
import { stateOf, type KeyView, type KeyStore } from './types/keys.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { RequestClient, Principal } from '#contracts/operations.ts'
import { plusPlatform } from '#contracts/lease.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type {
  FailedLogin,
  FailedLoginVerdict,
  PrincipalApi,
} from '#runtime/session/types/principal.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { Sources } from '#contracts/sources.ts'
import { networkOf } from './request-limits.ts'
import type { PrincipalNamespace } from './principal-ledger.ts'
import type { TokenReader, OAuthService } from './types/oauth.ts'
import type { Authenticate } from '#platform/routes/types.ts'
import type { RequestLimits } from './types/request-limits.ts'
import { holderOf, operator } from './principal-of.ts'
import { keyIn, type KnownKeys } from './known-keys.ts'

const maxBlocked = 1_000

/** Counts and records a wrong key. */
type LoginLimit = ReturnType<typeof createLoginLimit>

/** The object that counts wrong keys, and the log that records their sums. */
interface LoginLimitOptions extends Pick<Sources, 'sha256' | 'clock'> {
  readonly namespace: PrincipalNamespace
  readonly log: DeploymentLog
  readonly onFault: (error: unknown, requestId?: string) => void
  readonly deployment?: PlatformCount
}

/**
 * Counts wrong keys and tokens in one object of their own, so that a flood of them delays no principal's work. This
 * isolate remembers a limited address until its window ends: further failures make no call, and the next recorded row
 * reports them as `refused`.
 */
export function createLoginLimit(options: LoginLimitOptions) {
  const { namespace, sha256, clock, log, onFault, deployment } = options
  const name = sha256(lengthPrefixed(['failed-logins']))
  const blocked = new Map<string, { readonly untilMs: number; count: number }>()

  const ask = async (failed: FailedLogin): Promise<FailedLoginVerdict> => {
    const api = namespace.getByName(name) as PrincipalApi
    const reply: ObjectReply<FailedLoginVerdict> = await api.loginFailed(failed)
    deployment?.count(plusPlatform(reply.billed?.own, reply.billed?.others))
    if (!reply.ok) throw new Error(reply.error.message)
    return reply.value
  }
  const block = (address: string, untilMs: number) => {
    if (blocked.size >= maxBlocked) blocked.clear()
    blocked.set(address, { untilMs, count: 0 })
  }

  return {
    /**
     * Never throws: a refused caller stays refused.
     * @param shown The key, if it is revoked or expired; or `token` for a token.
     */
    async failed(
      client: RequestClient,
      shown: KeyView | 'token' | undefined,
    ): Promise<{ readonly retryAfterMs?: number }> {
      const key = shown === 'token' ? undefined : shown
      const nowMs = clock.nowMs()
      const address = networkOf(client.address)
      const known = blocked.get(address)
      if (known && nowMs < known.untilMs) {
        known.count += 1
        return { retryAfterMs: known.untilMs - nowMs }
      }
      blocked.delete(address)
      try {
        const { retryAfterMs, record } = await ask({ address, ...(key && { key: key.id }) })
        if (retryAfterMs !== undefined) block(address, nowMs + retryAfterMs)
        const refused = known?.count ?? 0
        const isToken = shown === 'token'
        if (record) await log.append(eventOf(record, { client, key, isToken, nowMs, refused }))
        return retryAfterMs === undefined ? {} : { retryAfterMs }
      } catch (error) {
        onFault(
          new Error(`A failed login was not counted: ${errorMessage(error)}`),
          client.requestId,
        )
        return {}
      }
    },
  }
}

/** The event of a failure. The shown key itself is never recorded, only its id and owner if it is a known key. */
function eventOf(
  { address, count, key: id }: NonNullable<FailedLoginVerdict['record']>,
  at: {
    readonly client: RequestClient
    readonly key: KeyView | undefined
    readonly isToken: boolean
    readonly nowMs: number
    readonly refused: number
  },
): DeploymentEvent {
  const { client, key, isToken, nowMs, refused } = at
  const reason = key ? stateOf(key, nowMs) : isToken ? 'token' : 'unknown'
  const data = {
    count,
    ...(refused > 0 && { refused }),
    ...defined({ address }),
    ...(address !== undefined && { reason }),
    ...(id !== undefined && key && { key: id, owner: key.principal }),
    ...defined({ request: client.requestId }),
  }
  return { type: 'login_failed', principal: '', trace: '', atMs: nowMs, data }
}

/** An access token has three parts with colons between them; a key of this deployment has no colon. */
const tokenForm = /^[^:]+:[^:]+:[^:]+$/
/** How many hashes of accepted keys and tokens one isolate remembers. */
const maxKnown = 10_000

/** The stores of keys and tokens, and the limits for wrong ones. */
export interface AuthenticatorOptions {
  readonly operatorKey?: string | undefined
  readonly sha256: Sources['sha256']
  readonly keys: Pick<KeyStore, 'findByHash'>
  readonly clock: Pick<Sources['clock'], 'nowMs'>
  readonly logins: LoginLimit
  readonly limits: Pick<RequestLimits, 'stranger'>
  /** Absent on the sign-in page, which accepts keys alone. */
  readonly tokens?: TokenReader
  /** Told of each key that was looked up. */
  readonly knownKeys?: Pick<KnownKeys, 'note' | 'forget'>
}

/**
 * Checks keys. The operator key needs no query; every other key is looked up by its hash with each call, so that a
 * revoked key is refused from the next request on. Without an operator key every request is refused: an open
 * deployment would let strangers spend its owner's money.
 *
 * A key or token that this isolate has not accepted before counts against its network (`limits.stranger`) before it
 * is looked up. An accepted key is looked up whatever others in its network do. Wrong keys are counted and recorded.
 * The answer to a wrong token stays "not valid" however many there were: a token ends within the hour, and its client
 * must learn that it needs another, not wait.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticate {
  const { operatorKey, sha256, keys, clock, logins, limits, tokens, knownKeys } = options
  const expected = operatorKey ? sha256(operatorKey) : undefined
  const known = new Set<string>()
  const remember = (hash: string) => {
    if (known.size >= maxKnown) known.clear()
    known.add(hash)
  }
  return async (authorization, client = {}) => {
    if (expected === undefined) throw notConfigured()
    const key = keyIn(authorization)
    if (key === undefined) throw unauthenticated('Send the key as "Authorization: Bearer <key>".')
    // Hashed first: the comparison then takes the same time whatever the length, and tells nothing of the key.
    const hash = sha256(key)
    if (isEqual(hash, expected)) return operator
    if (!known.has(hash)) await limits.stranger(client)
    if (tokens && client.url !== undefined && tokenForm.test(key)) {
      const holder = await tokens.principalOf(key, client.url)
      if (holder) {
        remember(hash)
        return holder
      }
      known.delete(hash)
      await logins.failed(client, 'token')
      throw unauthenticated('The key is not valid.')
    }
    const nowMs = clock.nowMs()
    const found = await keys.findByHash(hash)
    if (found && stateOf(found, nowMs) === 'active') {
      remember(hash)
      knownKeys?.note(hash, found, nowMs)
      return holderOf(found, nowMs)
    }
    known.delete(hash)
    knownKeys?.forget(hash)
    throw await refusal(logins, client, found)
  }
}

/** An unknown, an expired and a revoked key get the same answer; only the record tells them apart. */
async function refusal(
  logins: LoginLimit,
  client: RequestClient,
  key: KeyView | undefined,
): Promise<IsolaError> {
  const verdict = await logins.failed(client, key)
  if (verdict.retryAfterMs === undefined) return unauthenticated('The key is not valid.')
  return new IsolaError(
    'request_login_limited',
    'Too many wrong keys came from this address. Check the key, and try again later.',
    verdict,
  )
}

/** Compares all characters whatever differs, so that the time tells nothing about the hash. */
function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < a.length; index += 1) {
    difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  }
  return difference === 0
}

function unauthenticated(message: string): IsolaError {
  return new IsolaError('request_unauthenticated', message)
}

function notConfigured(): IsolaError {
  const message =
    'No operator key is set, so every request is refused. Locally `npm start` makes one; for a deployment run ' +
    '`npx wrangler secret put ISOLA_OPERATOR_KEY`.'
  return new IsolaError('request_auth_not_configured', message)
}

/** Dependencies of authentication and the authorization server. */
interface LoginParts extends Sources {
  readonly operatorKey: string | undefined
  readonly keys: KeyStore
  readonly namespace: PrincipalNamespace
  readonly log: DeploymentLog
  readonly limits: RequestLimits
  readonly onFault: (error: unknown, requestId?: string) => void
  /** Counts the platform's work for wrong keys. */
  readonly deployment?: PlatformCount
  /** Opens the authorization server, whose page accepts keys alone. Absent without its KV binding. */
  readonly openOAuth?: ((authenticate: Authenticate) => OAuthService) | undefined
  readonly knownKeys: KnownKeys
}

/** Builds authentication: by a key, or by a token of the authorization server. */
export function createLogins(parts: LoginParts): {
  readonly authenticate: Authenticate
  readonly claim: (authorization: string | undefined) => Principal | undefined
  readonly oauth?: OAuthService
} {
  const options = { ...parts, logins: createLoginLimit(parts) }
  const oauth = parts.openOAuth?.(createAuthenticator(options))
  return {
    authenticate: createAuthenticator({ ...options, ...defined({ tokens: oauth }) }),
    claim: (authorization) => parts.knownKeys.claim(authorization),
    ...defined({ oauth }),
  }
}
