import { defined } from '#contracts/defined.ts'
import type { KeyView } from './types/keys.ts'
import type { Rights } from '#contracts/keys.ts'
import type { Principal } from '#contracts/operations.ts'

/** Whoever has the operator's key. */
export const operator: Principal = { id: 'operator', role: 'operator' }

/** What somebody may, as it was read now. */
export function principalOf(id: string, rights: Rights, nowMs: number): Principal {
  const { role, agents, models, limits } = rights
  return {
    id,
    role,
    ...defined({ agents, models }),
    limits: { ...limits, asOfMs: nowMs },
  }
}

/** Whoever shows this key. */
export function holderOf(key: KeyView, nowMs: number): Principal {
  const { id, principal, persona } = key
  return {
    ...principalOf(principal, key, nowMs),
    key: id,
    ...defined({ persona }),
  }
}
