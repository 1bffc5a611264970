import { defined } from '#contracts/defined.ts'
import type { KeyView } from './types/keys.ts'
import type { Rights } from '#contracts/keys.ts'
import type { Principal } from '#contracts/operations.ts'

/** The principal of the operator key. */
export const operator: Principal = { id: 'operator', role: 'operator' }

/** A principal with its rights as of `nowMs`. */
export function principalOf(id: string, rights: Rights, nowMs: number): Principal {
  const { role, agents, models, limits } = rights
  return {
    id,
    role,
    ...defined({ agents, models }),
    limits: { ...limits, asOfMs: nowMs },
  }
}

/** The principal of this key. */
export function holderOf(key: KeyView, nowMs: number): Principal {
  const { id, principal, persona } = key
  return {
    ...principalOf(principal, key, nowMs),
    key: id,
    ...defined({ persona }),
  }
}
