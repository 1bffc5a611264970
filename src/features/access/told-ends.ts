import { errorMessage } from '#contracts/errors.ts'
import type { DeploymentEvent } from '#contracts/event.ts'
import type { KeyStore } from './types/keys.ts'
import type { GrantStore } from './types/oauth.ts'
import type { PrincipalObjects } from './principal-ledger.ts'

/** The tables, and who is to hear of what ends in them. */
export interface ToldEndsOptions {
  readonly keys: KeyStore
  readonly grants: GrantStore
  readonly principals: Pick<PrincipalObjects, 'lookHeld' | 'report'>
}

/**
 * The same tables: whoever ends a key or a sign-in in them, in whichever way, has its principal's object look for what
 * goes on with it. It is revoked in any case; an object that cannot be reached looks by itself a while later.
 */
export function tellEnds({ keys, grants, principals }: ToldEndsOptions): {
  readonly keys: KeyStore
  readonly grants: GrantStore
} {
  const tell = async ({ principal, data }: DeploymentEvent) => {
    const owner = 'owner' in data && typeof data.owner === 'string' ? data.owner : principal
    await principals.lookHeld(owner).catch((error: unknown) =>
      principals.report({
        kind: 'delivery_behind',
        session: '',
        message: `What goes on with a key or sign-in of ${owner} that was taken back is told later: ${errorMessage(error)}`,
      }),
    )
  }
  return {
    keys: {
      ...keys,
      async revoke(id, event) {
        await keys.revoke(id, event)
        await tell(event)
      },
      async rotate(old, key, event) {
        await keys.rotate(old, key, event)
        await tell(event)
      },
    },
    grants: {
      ...grants,
      async revoke(id, event) {
        await grants.revoke(id, event)
        await tell(event)
      },
    },
  }
}
