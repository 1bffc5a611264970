import { stateOf, type KeyStore, type Rights } from '#contracts/keys.ts'
import type { SessionRuntime } from '#contracts/runtime.ts'
import type { Sources } from '#contracts/sources.ts'

export interface MayBeginOptions {
  readonly keys: Pick<KeyStore, 'find' | 'rightsOf'>
  readonly clock: Pick<Sources['clock'], 'nowMs'>
}

/** Looks up now what a request would be held to: the key it was asked with, and what its principal may name. */
export function createMayBegin({ keys, clock }: MayBeginOptions): SessionRuntime['mayBegin'] {
  return async ({ principal, key: id, agent, model }) => {
    if (principal === 'operator' && id === undefined) return true
    const key = id === undefined ? undefined : await keys.find(id)
    if (id !== undefined && (!key || stateOf(key, clock.nowMs()) !== 'active')) return false
    const rights = key ?? (await keys.rightsOf(principal))
    return rights?.agents?.includes(agent) !== false && mayName(rights, model)
  }
}

/** With its provider or without: it was one of those that may be named when it was asked for. */
function mayName(rights: Rights | undefined, model: string | undefined): boolean {
  const isSame = (one: string) =>
    one === model || one.endsWith(`/${model}`) || model?.endsWith(`/${one}`) === true
  return model === undefined || rights?.models?.some(isSame) !== false
}
