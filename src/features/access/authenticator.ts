import { IsolaError } from '#contracts/errors.ts'
import { stateOf, type KeyStore, type KeyView } from './types/keys.ts'
import type { TokenReader } from './types/oauth.ts'
import type { Authenticate } from '#platform/routes/types/operations.ts'
import type { Client } from '#contracts/operations.ts'
import type { RequestLimits } from './types/request-limits.ts'
import type { Sources } from '#contracts/sources.ts'
import type { LoginLimit } from './login-limit.ts'
import { holderOf, operator } from './principal-of.ts'

/** An access token has three parts, and no key of ours a colon. */
const tokenForm = /^[^:]+:[^:]+:[^:]+$/
/** Keys and tokens that are remembered as known, by their hashes. */
const maxKnown = 10_000

/** Where keys are looked up, and who hears of those that are wrong. */
export interface AuthenticatorOptions {
  readonly operatorKey?: string | undefined
  readonly sha256: Sources['sha256']
  readonly keys: Pick<KeyStore, 'findByHash'>
  readonly clock: Pick<Sources['clock'], 'nowMs'>
  readonly logins: LoginLimit
  readonly limits: Pick<RequestLimits, 'stranger'>
  /** Absent: keys alone are taken, as on the page where somebody signs in. */
  readonly tokens?: TokenReader
}

/**
 * Checks keys: that of the operator without asking anybody, every other one by its hash in one query, anew with each
 * request, so that what was revoked is refused from the next request on. Without an operator key every request is
 * refused: an open deployment would spend its owner's money for anybody.
 *
 * Before a key or token that nobody was let in with yet is looked up, its network is asked to have not brought too many
 * of them. One that was let in here is looked up whatever others of its network do. What was wrong is counted, and on
 * the record; for a wrong token the answer stays that it is not valid, since each of them ends within the hour, and a
 * client must be told to get another, not to wait.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticate {
  const { operatorKey, sha256, keys, clock, logins, limits, tokens } = options
  const expected = operatorKey ? sha256(operatorKey) : undefined
  const known = new Set<string>()
  const remember = (hash: string) => {
    if (known.size >= maxKnown) known.clear()
    known.add(hash)
  }
  return async (authorization, client = {}) => {
    if (expected === undefined) throw notConfigured()
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
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
      return holderOf(found, nowMs)
    }
    known.delete(hash)
    throw await refusal(logins, client, found)
  }
}

/** A key that never was, one that expired and one that was revoked are refused alike; the record tells them apart. */
async function refusal(
  logins: LoginLimit,
  client: Client,
  key: KeyView | undefined,
): Promise<IsolaError> {
  const verdict = await logins.failed(client, key)
  if (verdict.retryAfterMs === undefined) return unauthenticated('The key is not valid.')
  const message = 'Too many wrong keys came from this address. Check the key, and try again later.'
  return new IsolaError('request_login_limited', message, verdict)
}

/** Every character of two hashes is looked at, whatever differs. */
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
