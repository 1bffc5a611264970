import { IsolaError } from '#contracts/errors.ts'
import type { DeploymentEvent } from '#contracts/event.ts'
import type { GrantAdministration, GrantStore, OAuthGrant } from '../types/oauth.ts'
import type { Sources } from '#contracts/sources.ts'

/** The operator's list and revocation of grants; every change is an event on the record. */
export function createGrantAdministration({
  grants,
  clock,
  forget,
}: {
  readonly grants: GrantStore
  readonly clock: Pick<Sources['clock'], 'nowMs'>
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
      const { principal, trace, requestId } = by
      const event: DeploymentEvent = {
        type: 'oauth_revoked',
        principal,
        trace,
        atMs: clock.nowMs(),
        data: { grant: id, owner: grant.principal, reason: 'operator', request: requestId },
      }
      await grants.revoke(id, event)
      await forget(grant)
      return find(id)
    },
  }
}
