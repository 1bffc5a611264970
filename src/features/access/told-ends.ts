import { errorMessage } from '#contracts/errors.ts'
import type { DeploymentEvent } from '#contracts/event.ts'
import type { KeyStore } from './types/keys.ts'
import type { GrantStore } from './types/oauth.ts'
import type { PrincipalObjects } from './principal-ledger.ts'

/** The tables, and the principals' objects that are told of an end. */
interface ToldEndsOptions {
  readonly keys: KeyStore
  readonly grants: GrantStore
  readonly principals: Pick<PrincipalObjects, 'lookHeld' | 'report'>
  /** This isolate forgets at once what it knew of keys. */
  readonly forget: () => void
}

/**
 * Wraps the tables so that each end of a key or sign-in makes its principal's object look for work that goes on with
 * it. The revocation holds in any case; an unreachable object looks by itself later.
 */
export function tellEnds({ keys, grants, principals, forget }: ToldEndsOptions): {
  readonly keys: KeyStore
  readonly grants: GrantStore
} {
  const tell = async ({ principal, data }: DeploymentEvent) => {
    const owner = 'owner' in data && typeof data.owner === 'string' ? data.owner : principal
    await principals.lookHeld(owner).catch((error: unknown) =>
      principals.report({
        kind: 'delivery_behind',
        session: '',
        message:
          `What goes on with a key or sign-in of ${owner} that was taken back is told later: ` +
          `${errorMessage(error)}`,
      }),
    )
  }
  return {
    keys: {
      ...keys,
      async change(principal, rights, event) {
        await keys.change(principal, rights, event)
        forget()
      },
      async revoke(id, event) {
        await keys.revoke(id, event)
        forget()
        await tell(event)
      },
      async rotate(old, key, event) {
        await keys.rotate(old, key, event)
        forget()
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
