import { stateOf, type KeyStore } from '#contracts/keys.ts'
import type { SessionRuntime } from '#contracts/runtime.ts'
import type { Sources } from '#contracts/sources.ts'

export interface MayBeginOptions {
  readonly keys: Pick<KeyStore, 'find' | 'rightsOf'>
  readonly clock: Pick<Sources['clock'], 'nowMs'>
}

/** Looks up now what a request would be held to: the key it was asked with, and the agents of its principal. */
export function createMayBegin({ keys, clock }: MayBeginOptions): SessionRuntime['mayBegin'] {
  return async ({ principal, key: id, agent }) => {
    if (principal === 'operator' && id === undefined) return true
    const key = id === undefined ? undefined : await keys.find(id)
    if (id !== undefined && (!key || stateOf(key, clock.nowMs()) !== 'active')) return false
    const { agents } = key ?? (await keys.rightsOf(principal)) ?? {}
    return agents?.includes(agent) !== false
  }
}
