import type { Clock, Sources } from '#contracts/sources.ts'
import type { Principal } from '#contracts/operations.ts'
import type { KeyStore, KeyView } from './types/keys.ts'
import { stateOf } from './types/keys.ts'
import { holderOf } from './principal-of.ts'
import type { SessionRuntime } from '#runtime/session/types/runtime.ts'

/** How long an isolate names the principal of a key without a question. */
const maxAgeMs = 900_000
/** How many keys one isolate knows. */
const maxKnown = 10_000

/** The key of an `Authorization` header. */
export const keyIn = (authorization: string | undefined): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]

/** Keys that the database said are valid, as one isolate remembers them. */
export type KnownKeys = ReturnType<typeof createKnownKeys>

/**
 * Remembers keys by their hash, to name the principal of a request that goes on to a session. It admits nothing: a
 * claim says what the database said once, and the session asks the database whether all of that still holds before
 * any effect (docs/decisions/0115).
 */
export function createKnownKeys({ clock, sha256 }: Pick<Sources, 'clock' | 'sha256'>) {
  const byHash = new Map<string, { readonly key: KeyView; readonly atMs: number }>()
  return {
    note(hash: string, key: KeyView, atMs: number): void {
      if (byHash.size >= maxKnown) byHash.clear()
      byHash.set(hash, { key, atMs })
    },
    forget: (hash: string) => void byHash.delete(hash),
    /** A key or rights were changed here. */
    clear: () => byHash.clear(),
    /**
     * The principal that this key had when it was looked up last, with the claim that the session checks; `undefined`
     * for a key that is not known here, has ended, or does more than talk to agents.
     */
    claim(authorization: string | undefined): Principal | undefined {
      const secret = keyIn(authorization)
      const known = secret === undefined ? undefined : byHash.get(sha256(secret))
      if (!known) return undefined
      const { key, atMs } = known
      const nowMs = clock.nowMs()
      const isYoung = nowMs >= atMs && nowMs - atMs < maxAgeMs
      if (!isYoung || key.role !== 'user' || stateOf(key, nowMs) !== 'active') return undefined
      return { ...holderOf(key, atMs), claim: claimOf(key) }
    },
  }
}

/** Everything that a request relies on. A changed end or successor makes a different claim. */
const claimOf = ({ hint: _hint, createdAtMs: _createdAtMs, ...said }: KeyView): string =>
  JSON.stringify(Object.entries(said).toSorted(([one], [other]) => (one < other ? -1 : 1)))

/** Asks the database about a claim: whether the key holds now, and everything the claim says of it. */
export const createClaimCheck =
  ({
    keys,
    clock,
  }: {
    readonly keys: Pick<KeyStore, 'find'>
    readonly clock: Pick<Clock, 'nowMs'>
  }): NonNullable<SessionRuntime['holdsClaim']> =>
  async ({ principal, key, claim }) => {
    const found = key === undefined ? undefined : await keys.find(key)
    if (!found || stateOf(found, clock.nowMs()) !== 'active') return false
    return found.principal === principal && claimOf(found) === claim
  }
