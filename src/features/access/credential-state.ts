import { defined } from '#contracts/defined.ts'
import type { CredentialState } from '#runtime/session/types/principal.ts'
import { stateOf, type KeyStore } from './types/keys.ts'
import type { GrantStore } from './types/oauth.ts'
import type { Clock } from '#contracts/sources.ts'
import { inForce } from './successors.ts'

/** The tables that hold the state of keys and sign-ins. */
export interface CredentialStateOptions {
  readonly keys: Pick<KeyStore, 'find'>
  readonly grants: Pick<GrantStore, 'find'>
  readonly clock: Pick<Clock, 'nowMs'>
}

/**
 * Looks up whether work that began with a key or a sign-in may go on. An expired sign-in ends no work: its principal
 * did not revoke it. May throw `request_unavailable`.
 */
export function createCredentialState({ keys, grants, clock }: CredentialStateOptions) {
  return async (id: string): Promise<CredentialState> => {
    if (id.startsWith('grant_')) {
      const grant = await inForce(id, grants.find, ({ revokedAtMs }) => revokedAtMs === undefined)
      const holds = grant && grant.revokedAtMs === undefined
      return holds ? { state: 'active' } : { state: 'ended', reason: 'revoked' }
    }
    const nowMs = clock.nowMs()
    const key = await inForce(id, keys.find, (one) => stateOf(one, nowMs) === 'active')
    const state = key ? stateOf(key, nowMs) : 'revoked'
    if (state !== 'active') return { state: 'ended', reason: state }
    const endsAtMs = key?.expiresAtMs
    return { state: 'active', ...defined({ endsAtMs }) }
  }
}
