import { IsolaError } from '#contracts/errors.ts'
import type { McpResealed } from '#runtime/catalog/types/mcp.ts'
import type { LinkStore } from '../kept-values.ts'

/** The part of sealing under the master key that this room needs. */
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
  readonly isCurrent: (sealed: { readonly keyId: string }) => boolean
}

type Sealed = Parameters<Seal['open']>[0]

/** Sealed it is larger, and a value of the object's store has 2 MB at most. */
const maxChars = 256_000

const prefix = 'mcp '

/**
 * Seals values of the previous master key under today's. A value that no key opens stays, since the operator may put
 * its key back, until a principal signs in under today's key.
 */
export async function resealAll(
  store: LinkStore & {
    readonly list: (options: { readonly prefix: string }) => Iterable<[string, unknown]>
  },
  { seal, open, isCurrent }: Seal,
): Promise<McpResealed> {
  // Whatever has this prefix was put in below, by this code.
  const all = [...store.list({ prefix })] as [string, Sealed][]
  const old = all.filter(([, sealed]) => !isCurrent(sealed))
  let [rotated, locked] = [0, 0]
  for (const [key, sealed] of old) {
    const value = await open(sealed).catch(() => undefined)
    if (value === undefined) {
      if (old.length < all.length) store.delete(key)
      else locked += 1
      continue
    }
    const anew = await seal(sealed.name, value)
    // A sign-in may have written it meanwhile, or taken it away.
    const isSame = (store.get(key) as Sealed | undefined)?.sealed === sealed.sealed
    if (isSame) store.put(key, anew)
    rotated += 1
  }
  return { rotated, current: all.length - old.length, locked }
}

/** Values of one server, sealed under the master key while they are kept. */
export type SealedStore = ReturnType<typeof createSealedStore>

/** Values of one server's sign-in, each sealed under its own name; a value that no key opens counts as missing. */
export function createSealedStore(
  store: LinkStore,
  { seal, open }: Pick<Seal, 'seal' | 'open'>,
  /** Part of each name: a value of another server, or of another address of this server, cannot be opened here. */
  scope: string,
  learn: (value: string) => void,
) {
  const nameOf = (key: string) => `${prefix}${scope} ${key}`
  return {
    async get<T>(key: string): Promise<T | undefined> {
      const kept = store.get(nameOf(key)) as Sealed | undefined
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
    async put(key: string, value: unknown): Promise<void> {
      for (const secret of secretsIn(value)) learn(secret)
      const text = JSON.stringify(value)
      if (text.length > maxChars)
        throw new IsolaError('tool_failed', 'The authorization server says more than can be kept.')
      store.put(nameOf(key), await seal(nameOf(key), text))
    },
    delete: (key: string): void => store.delete(nameOf(key)),
  }
}

/** The secret texts in a value: no log may hold them. */
function secretsIn(value: unknown): readonly string[] {
  const fields = Object(value) as Readonly<Record<string, unknown>>
  return ['access_token', 'refresh_token', 'client_secret', 'verifier'].flatMap((field) => {
    const secret = fields[field]
    return typeof secret === 'string' ? [secret] : []
  })
}
