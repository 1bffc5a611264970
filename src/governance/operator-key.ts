import { IsolaError } from '#contracts/errors.ts'
import type { Authenticate, Principal } from '#contracts/operations.ts'
import type { Sources } from '#contracts/sources.ts'

const operator: Principal = { id: 'operator', role: 'operator' }

/**
 * Checks the operator key of the deployment. Without one every request is refused: an open deployment would
 * spend its owner's money for anybody.
 */
export function createAuthenticator({
  operatorKey,
  sha256,
}: {
  readonly operatorKey?: string | undefined
  readonly sha256: Sources['sha256']
}): Authenticate {
  const expected = operatorKey ? sha256(operatorKey) : undefined
  return async (authorization) => {
    if (expected === undefined) throw notConfigured()
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
    if (key === undefined) throw unauthenticated('Send the key as "Authorization: Bearer <key>".')
    // Hashed first: the comparison then takes the same time whatever the length, and tells nothing of the key.
    if (!isEqual(sha256(key), expected)) throw unauthenticated('The key is not valid.')
    return operator
  }
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
