import { IsolaError } from '#contracts/errors.ts'
import type { LinkStore } from '../kept-values.ts'

/** What sealing under the master key this room needs. */
export interface Seal {
  readonly seal: (
    name: string,
    value: string,
  ) => Promise<{ readonly name: string; readonly sealed: string; readonly keyId: string }>
  readonly open: (sealed: {
    readonly name: string
    readonly sealed: string
    readonly keyId: string
  }) => Promise<string>
}

export interface SealedStore {
  readonly get: <T>(key: string) => Promise<T | undefined>
  readonly put: (key: string, value: unknown) => Promise<void>
  readonly delete: (key: string) => void
}

/** Sealed it is larger, and a value of the object's store has 2 MB at most. */
const maxChars = 256_000

/** Values of one server's sign-in, each sealed under its own name; what no key opens any more is not there. */
export function createSealedStore(
  store: LinkStore,
  { seal, open }: Seal,
  /** Part of each name: what was for another server, or another address of it, opens nothing here. */
  scope: string,
  learn: (value: string) => void,
): SealedStore {
  const nameOf = (key: string) => `mcp ${scope} ${key}`
  return {
    async get<T>(key: string) {
      const kept = store.get(nameOf(key)) as Parameters<Seal['open']>[0] | undefined
      if (!kept) return undefined
      try {
        // It was put in below, by this code.
        const value = JSON.parse(await open(kept)) as T
        for (const secret of secretsIn(value)) learn(secret)
        return value
      } catch {
        return undefined
      }
    },
    async put(key, value) {
      for (const secret of secretsIn(value)) learn(secret)
      const text = JSON.stringify(value)
      if (text.length > maxChars)
        throw new IsolaError('tool_failed', 'The authorization server says more than can be kept.')
      store.put(nameOf(key), await seal(nameOf(key), text))
    },
    delete: (key) => store.delete(nameOf(key)),
  }
}

/** What no log may hold. */
function secretsIn(value: unknown): readonly string[] {
  const fields = Object(value) as Readonly<Record<string, unknown>>
  return ['access_token', 'refresh_token', 'client_secret', 'verifier'].flatMap((field) => {
    const secret = fields[field]
    return typeof secret === 'string' ? [secret] : []
  })
}
