import { IsolaError } from '#contracts/errors.ts'
import type { Authenticate, Principal } from '#contracts/operations.ts'

const operator: Principal = { id: 'operator', role: 'operator' }

/**
 * Checks the operator key of the deployment. Without one every request is refused: an open deployment would
 * spend its owner's money for anybody.
 */
export function createAuthenticator(config: {
  readonly operatorKey?: string | undefined
}): Authenticate {
  const { operatorKey } = config
  let expected: Uint8Array | undefined
  return async (authorization) => {
    if (operatorKey === undefined || operatorKey === '') throw notConfigured()
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
    if (key === undefined) throw unauthenticated('Send the key as "Authorization: Bearer <key>".')
    expected ??= await sha256(operatorKey)
    // Hashed first: the comparison then takes the same time whatever the length, and tells nothing of the key.
    if (!isEqual(await sha256(key), expected)) throw unauthenticated('The key is not valid.')
    return operator
  }
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

/** In constant time. workerd has a primitive for it; elsewhere every byte is looked at. */
function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  const { timingSafeEqual } = crypto.subtle as {
    timingSafeEqual?: (a: Uint8Array, b: Uint8Array) => boolean
  }
  if (timingSafeEqual) return timingSafeEqual.call(crypto.subtle, a, b)
  let difference = a.length ^ b.length
  for (const [index, byte] of a.entries()) difference |= byte ^ (b[index] ?? 0)
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
