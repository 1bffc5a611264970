import { stateOf, type KeyStore } from '../types/keys.ts'
import { isHeld, type GrantStore } from '../types/oauth.ts'
import type { Principal } from '#contracts/operations.ts'
import type { Sources } from '#contracts/sources.ts'
import { holderOf, operator, principalOf } from '../principal-of.ts'
import type { Person } from './oidc/people.ts'
import type { Proof } from './proof.ts'

/** The tables that say which principal a token speaks for, read anew for each request. */
interface IdentityOptions extends Pick<Sources, 'sha256'> {
  readonly operatorKey: string | undefined
  readonly keys: Pick<KeyStore, 'find' | 'rightsOf'>
  readonly grants: Pick<GrantStore, 'find'>
  readonly clock: Pick<Sources['clock'], 'nowMs'>
  /** The person as the upstream provider knows it, if it may sign in. Asked anew each time. */
  readonly personOf: (by: Extract<Proof['by'], { kind: 'person' }>) => Person | undefined
}

/** The principal behind a proof now; `undefined` once the grant, the key or the person is no longer accepted. */
export type Identity = ReturnType<typeof createIdentity>

/** Asks the database anew with each request, so that a revoked key or grant opens nothing from the next request on. */
export function createIdentity(options: IdentityOptions) {
  const { operatorKey, sha256, keys, grants, clock, personOf } = options
  // The mark tells nothing even about a weak key: it is sealed inside the token.
  const mark = operatorKey ? sha256(`oauth-sign-in:${operatorKey}`) : undefined

  const holder = async (by: Proof['by']): Promise<Principal | undefined> => {
    const nowMs = clock.nowMs()
    switch (by.kind) {
      case 'operator':
        return mark !== undefined && by.mark === mark ? operator : undefined
      case 'key': {
        const key = await keys.find(by.key)
        return key && stateOf(key, nowMs) === 'active' ? holderOf(key, nowMs) : undefined
      }
      case 'person': {
        const person = personOf(by)
        if (!person) return undefined
        const rights = await keys.rightsOf(person.principal)
        return principalOf(person.principal, rights ?? { role: person.role }, nowMs)
      }
    }
  }
  return {
    holderOf: holder,
    async holderOfGrant(proof: Proof): Promise<Principal | undefined> {
      const [grant, found] = await Promise.all([grants.find(proof.grant), holder(proof.by)])
      // A person may be mapped to another principal since: the grant is for the earlier one.
      return grant && isHeld(grant, clock.nowMs()) && grant.principal === found?.id
        ? found
        : undefined
    },
    /** The proof of a principal who just showed a key. */
    proofOf: ({ key }: Principal): Proof['by'] =>
      key === undefined ? { kind: 'operator', mark: mark ?? '' } : { kind: 'key', key },
  }
}
