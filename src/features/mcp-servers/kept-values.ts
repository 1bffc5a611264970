import { sizeBytes } from './list-all.ts'

/** The rows of a server that survive the sleep of its object. */
export interface LinkStore {
  readonly get: (key: string) => unknown
  readonly put: (key: string, value: unknown) => void
  readonly delete: (key: string) => void
}

/** Values by name, each of one configuration. */
export interface KeptValues {
  readonly get: <T>(name: string, key: string) => T | undefined
  /** Stores a value as text, whose size is known; skips a value that is too large. @returns Whether it is stored. */
  readonly keep: (name: string, key: string, value: unknown) => boolean
  readonly drop: (name: string) => void
}

/** A value of the object's store has 2 MB at most. */
const maxKeptBytes = 1_900_000

/**
 * Values by name and `key`. A value that was read or written is cached: this object is the only writer, and a warm
 * call must not parse a list of megabytes.
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
      return entry?.key === key ? (entry.value as T) : undefined // the caller of `keep` gave its type
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
