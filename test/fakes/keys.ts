import { IsolaError } from '../../src/contracts/errors.ts'
import type { DeploymentEvent } from '../../src/contracts/event.ts'
import { stateOf, type KeyStore, type KeyView } from '../../src/features/access/types/keys.ts'
import { type Rights } from '../../src/contracts/keys.ts'
import type { AuthenticatorOptions } from '../../src/features/access/logins.ts'
import { sha256 } from './kernel.ts'

/** The parts of an authenticator that knows the operator key alone. */
export const noOtherKeys: Omit<AuthenticatorOptions, 'operatorKey'> = {
  sha256,
  keys: { findByHash: async () => undefined },
  clock: { nowMs: () => 0 },
  logins: { failed: async () => ({}) },
  limits: { stranger: async () => {} },
}

/** The tables of principals and keys as the database keeps them, and what was put on the record. */
export function createMemoryKeys(): KeyStore & {
  readonly events: readonly DeploymentEvent[]
  readonly hashes: ReadonlyMap<string, string>
} {
  const events: DeploymentEvent[] = []
  const hashes = new Map<string, string>()
  const rights = new Map<string, Rights>()
  let keys: readonly KeyView[] = []
  const find = async (id: string) => keys.find((key) => key.id === id)
  const change = (id: string, more: Partial<KeyView>) => {
    keys = keys.map((key) => (key.id === id ? { ...key, ...more } : key))
  }
  const insert: KeyStore['add'] = async ({ hash, ...key }, event) => {
    hashes.set(hash, key.id)
    keys = [{ ...key, ...rights.get(key.principal)! }, ...keys]
    events.push(event)
  }
  return {
    events,
    hashes,
    find,
    findByHash: (hash) => find(hashes.get(hash) ?? ''),
    principals: async () => ['operator', ...rights.keys()],
    rightsOf: async (principal) => rights.get(principal),
    list: async ({ principal, limit }) =>
      keys.filter((key) => (principal ?? key.principal) === key.principal).slice(0, limit),
    async add(key, event, given) {
      if (given && rights.has(key.principal))
        throw new IsolaError('request_conflict', 'principal: is there.', { param: 'principal' })
      if (given) rights.set(key.principal, given)
      await insert(key, event)
    },
    async revoke(id, event) {
      if ((await find(id))?.revokedAtMs !== undefined) return
      change(id, { revokedAtMs: event.atMs })
      events.push(event)
    },
    async change(principal, given, event) {
      rights.set(principal, given)
      events.push(event)
    },
    async rotate({ id, endsAtMs }, key, event) {
      const old = await find(id)
      if (!old || stateOf(old, event.atMs) !== 'active') return
      change(id, endsAtMs <= event.atMs ? { revokedAtMs: event.atMs } : { expiresAtMs: endsAtMs })
      await insert(key, event)
    },
  }
}
