import * as z from 'zod'

const algorithms = {
  RS256: {
    key: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    verify: { name: 'RSASSA-PKCS1-v1_5' },
    kty: 'RSA',
  },
  ES256: {
    key: { name: 'ECDSA', namedCurve: 'P-256' },
    verify: { name: 'ECDSA', hash: 'SHA-256' },
    kty: 'EC',
  },
} as const

const header = z.object({ alg: z.enum(['RS256', 'ES256']), kid: z.string().optional() })
const claims = z.lazy(() =>
  z.object({
    iss: z.string(),
    sub: z.string().min(1).max(255),
    aud: z.union([z.string(), z.array(z.string())]),
    azp: z.string().optional(),
    exp: z.number(),
    iat: z.number(),
    nonce: z.string(),
    email: z.string().optional(),
    email_verified: z.union([z.boolean(), z.literal('true'), z.literal('false')]).optional(),
  }),
)
const jwks = z.lazy(() =>
  z.object({
    keys: z
      .array(
        z.looseObject({
          kty: z.string(),
          kid: z.string().optional(),
          use: z.string().optional(),
          alg: z.string().optional(),
        }),
      )
      .max(100),
  }),
)

/** How far two clocks may differ, in seconds. */
const skewSeconds = 60

/** The claims that an ID token must match. */
export interface Expected {
  readonly issuer: string
  readonly clientId: string
  readonly nonce: string
  readonly nowMs: number
}

/** A person as the provider knows it. The e-mail is set only if the provider has verified it. */
export interface Verified {
  readonly subject: string
  readonly email?: string
}

/**
 * Checks an ID token as OpenID Connect Core 3.1.3.7 says: signature by a key of the provider's (RS256 or ES256, no
 * other algorithm, least of all none), issuer, audience, time and nonce. `undefined` for one that fails any of them.
 *
 * @param keys The provider's JSON Web Key Set, as it was read.
 */
export async function verifyIdToken(
  token: string,
  keys: unknown,
  expected: Expected,
): Promise<Verified | undefined> {
  try {
    const [head = '', body = '', signature = '', ...more] = token.split('.')
    if (more.length > 0) return undefined
    const { alg, kid } = header.parse(parsePart(head))
    const { kty, key, verify } = algorithms[alg]
    const known = jwks.parse(keys).keys.filter((one) => {
      const isFor = one.kty === kty && (one.alg ?? alg) === alg && (one.use ?? 'sig') === 'sig'
      return isFor && (kid === undefined || one.kid === kid)
    })
    // If several keys fit, the choice would be a guess.
    const [jwk, ...others] = known
    if (!jwk || others.length > 0) return undefined
    // `importKey` refuses a key of another kind.
    const imported = await crypto.subtle.importKey('jwk', jwk as JsonWebKey, key, false, ['verify'])
    const signed = new TextEncoder().encode(`${head}.${body}`)
    if (!(await crypto.subtle.verify(verify, imported, toBytes(signature), signed)))
      return undefined
    return checkClaims(claims.parse(parsePart(body)), expected)
  } catch {
    return undefined
  }
}

function checkClaims(
  claim: z.infer<typeof claims>,
  { issuer, clientId, nonce, nowMs }: Expected,
): Verified | undefined {
  const audience = [claim.aud].flat()
  const now = nowMs / 1_000
  const fits =
    claim.iss === issuer &&
    audience.includes(clientId) &&
    (audience.length === 1 || claim.azp !== undefined) &&
    (claim.azp ?? clientId) === clientId &&
    claim.nonce === nonce &&
    claim.exp > now - skewSeconds &&
    claim.iat < now + skewSeconds
  if (!fits) return undefined
  const isChecked = claim.email_verified === true || claim.email_verified === 'true'
  return { subject: claim.sub, ...(isChecked && claim.email && { email: claim.email }) }
}

const parsePart = (part: string): unknown => JSON.parse(new TextDecoder().decode(toBytes(part)))

const toBytes = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
