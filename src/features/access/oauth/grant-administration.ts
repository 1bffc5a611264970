import { IsolaError } from '#contracts/errors.ts'
import { eventOf } from '../key-administration.ts'
import type { GrantAdministration, GrantStore, OAuthGrant } from '../types/oauth.ts'
import type { Sources } from '#contracts/sources.ts'

/** The operator's list and revocation of grants; every change is an event on the record. */
export function createGrantAdministration({
  grants,
  clock,
  forget,
}: {
  readonly grants: GrantStore
  readonly clock: Sources['clock']
  /** Deletes the grant's tokens in KV too. Never throws: the table decides. */
  readonly forget: (grant: OAuthGrant) => Promise<void>
}): GrantAdministration {
  const find = async (id: string): Promise<OAuthGrant> => {
    const grant = await grants.find(id)
    if (!grant) throw new IsolaError('request_not_found', 'There is no such grant.')
    return grant
  }
  return {
    list: grants.list,
    async revoke(id, by) {
      const grant = await find(id)
      const data = { grant: id, owner: grant.principal, reason: 'operator' }
      await grants.revoke(id, eventOf('oauth_revoked', by, clock.nowMs(), data))
      await forget(grant)
      return find(id)
    },
  }
}
