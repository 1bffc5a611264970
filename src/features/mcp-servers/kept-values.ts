import { sizeBytes } from './list-all.ts'

/** What is kept of a server while its object sleeps. */
export interface LinkStore {
  readonly get: (key: string) => unknown
  readonly put: (key: string, value: unknown) => void
  readonly delete: (key: string) => void
}

/** Values by name, each of one configuration. */
export interface KeptValues {
  readonly get: <T>(name: string, key: string) => T | undefined
  /** As text, whose size in the store is known; what is too large is not kept. @returns Whether it is. */
  readonly keep: (name: string, key: string, value: unknown) => boolean
  readonly drop: (name: string) => void
}

/** A value of the object's store has 2 MB at most. */
const maxKeptBytes = 1_900_000

/**
 * Values by name and `key`. What was read or written is not read again: the object is the only one who writes, and a warm call must not parse a list of megabytes.
 */
export function createKeptValues(store: LinkStore): KeptValues {
  const held = new Map<string, { readonly key: string; readonly value: unknown }>()
  const load = (name: string) => {
    const row = store.get(name) as { readonly key: string; readonly text?: string } | undefined
    if (row?.text === undefined) return undefined
    const entry = { key: row.key, value: JSON.parse(row.text) as unknown }
    held.set(name, entry)
    return entry
  }
  const drop = (name: string): void => {
    held.delete(name)
    store.delete(name)
  }
  return {
    get<T>(name: string, key: string): T | undefined {
      const entry = held.get(name) ?? load(name)
      return entry?.key === key ? (entry.value as T) : undefined // whoever kept it said what it is
    },
    keep(name, key, value) {
      const text = JSON.stringify(value)
      if (sizeBytes(text) > maxKeptBytes) {
        drop(name)
        return false
      }
      store.put(name, { key, text })
      held.set(name, { key, value: JSON.parse(text) as unknown })
      return true
    },
    drop,
  }
}
