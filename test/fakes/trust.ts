import { IsolaError } from '../../src/contracts/errors.ts'
import type { DeploymentEvent } from '../../src/contracts/event.ts'
import type { TrustedKey, TrustStore } from '../../src/runtime/catalog/types/plugin-upload.ts'

/** The table of accepted keys as the database keeps it, and what was put on the record. */
export function createMemoryTrust(): TrustStore & { readonly events: readonly DeploymentEvent[] } {
  const events: DeploymentEvent[] = []
  let keys: readonly TrustedKey[] = []
  return {
    events,
    list: async () => keys.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    async add(key, event) {
      if (keys.some(({ id, name }) => id === key.id || name === key.name))
        throw new IsolaError('request_conflict', 'name: is there.', { param: 'name' })
      keys = [...keys, key]
      events.push(event)
    },
    async remove(id, event) {
      keys = keys.filter((key) => key.id !== id)
      events.push(event)
    },
  }
}
