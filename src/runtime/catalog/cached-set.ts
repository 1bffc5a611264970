import type { Clock } from '#contracts/sources.ts'
import type { PluginSource, StoredPart } from './types/generation.ts'

/** The result of `work`, or `late` after so many milliseconds. Rejects as `work` does. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | 'late'> {
  const done = new AbortController()
  const late = clock.sleep(ms, done.signal).then(() => 'late' as const)
  return Promise.race([work, late]).finally(() => done.abort())
}

const maxCachedIds = 2_000
const maxCachedChars = 8_000_000
/** How long a body counts as missing after it could not be read. */
const missingMs = 1_000

interface Found {
  /** The generation that the parts are of. */
  readonly number: number
  readonly parts: readonly StoredPart[]
}

/** Parts by their ids, each looked up once in a generation; also that an id has none. */
export function createPartLookup(lookUp: (ids: readonly string[]) => Promise<Found>) {
  const cached = new Map<string, Found>()
  const partsOf = (id: string): readonly StoredPart[] => cached.get(id)?.parts ?? []
  return {
    /** The parts of this generation or a later one. */
    async find(ids: readonly string[], since: number): Promise<readonly StoredPart[]> {
      const isKnown = (id: string) => (cached.get(id)?.number ?? -1) >= since
      // A copy: the cache may be cleared while the rest is looked up.
      const known = new Map(ids.filter(isKnown).map((id) => [id, partsOf(id)]))
      const missing = ids.filter((id) => !known.has(id))
      if (missing.length > 0) {
        const { number, parts } = await lookUp(missing)
        if (cached.size > maxCachedIds) cached.clear()
        for (const id of missing) {
          const found = parts.filter((part) => part.id === id)
          cached.set(id, { number, parts: found })
          known.set(id, found)
        }
      }
      return ids.flatMap((id) => known.get(id) ?? [])
    },
    /** A part that was missing may have been added since. */
    forgetMissing(ids: readonly string[]): void {
      for (const id of ids) if (partsOf(id).length === 0) cached.delete(id)
    },
    clear: () => cached.clear(),
  }
}

/**
 * Reads bodies by their hash and caches them, since a hash has one content for ever. The body that was used longest ago
 * leaves the cache first. Answers `undefined` for a body that cannot be read.
 */
export function createBodyCache(
  load: (hash: string) => Promise<PluginSource>,
  { nowMs }: Pick<Clock, 'nowMs'>,
) {
  const cached = new Map<string, { readonly source: PluginSource; readonly chars: number }>()
  const missing = new Map<string, number>()
  let chars = 0
  const add = (hash: string, source: PluginSource): void => {
    if (cached.has(hash)) return
    const size = JSON.stringify(source).length
    cached.set(hash, { source, chars: size })
    chars += size
    for (const [oldest, body] of cached) {
      if (chars <= maxCachedChars || oldest === hash) break
      cached.delete(oldest)
      chars -= body.chars
    }
  }
  return async (hash: string): Promise<PluginSource | undefined> => {
    const found = cached.get(hash)
    if (found) {
      // Written again, so that it is the newest in the order of the map.
      cached.delete(hash)
      cached.set(hash, found)
      return found.source
    }
    if (nowMs() - (missing.get(hash) ?? -Infinity) < missingMs) return undefined
    const source = await load(hash).catch(() => undefined)
    if (source) {
      add(hash, source)
      missing.delete(hash)
    } else missing.set(hash, nowMs())
    return source
  }
}

/**
 * How old the Catalog's last word may be where a call of an installed plugin begins, or uses something it was granted.
 *
 * @see docs/decisions/0112-how-fast-a-change-holds.md
 */
export const boundMs = 1_000
/** A set of this age is read again behind the answer: a session at work has a fresh one when a call begins. */
const refreshAfterMs = boundMs / 2
/** A set older than this is read again before the answer: this isolate has had no request for so long. */
const maxAgeMs = 60_000
/** The longest that a caller waits for the Catalog. */
export const maxWaitMs = 5_000
/** The same after a read that failed. */
const shortWaitMs = 250
/** The longest that a caller waits for the copy, beside which the Catalog was asked already. */
const nearWaitMs = 250
/** A read that takes longer is made again beside it: the object or request that began it may be gone. */
const takeOverMs = 1_000
/** Between two reads for the sake of names that are not cached. */
const minPauseMs = 250
/** How often a caller looks for what another one reads. */
const maxPollMs = 50

export interface CachedSetDeps<T> {
  readonly clock: Clock
  /** Receives the cached set. May throw. */
  readonly read: (cached: T | undefined) => Promise<T>
  readonly unavailable: () => Error
  /** A copy that is nearer than what `read` asks. */
  readonly near?:
    | {
        /** Never rejects. */
        readonly read: () => Promise<T | undefined>
        readonly isOlder: (copy: T, cached: T) => boolean
      }
    | undefined
  /** Lets a read go on after the answer of the request that began it. */
  readonly keepAlive?: ((work: Promise<unknown>) => void) | undefined
}

interface Flight {
  readonly atMs: number
  /** Never rejects. */
  readonly done: Promise<void>
}

/**
 * The set in force, cached for all objects and requests of one isolate, with one read in flight. A caller that joins a
 * read polls the cache: a promise of another object may never settle, since that object may end first.
 */
export function createCachedSet<T>({
  clock,
  read,
  unavailable,
  near,
  keepAlive,
}: CachedSetDeps<T>) {
  /**
   * `atMs` is when the Catalog was asked, not when it answered; `nearAtMs`, when the copy was that says the same or
   * brought it.
   */
  let cached: { readonly value: T; readonly atMs: number; readonly nearAtMs: number } | undefined
  let nearReadAtMs: number | undefined
  /** After a change the copy is not asked until the Catalog was: it may be older. */
  let mustAsk = false
  let flight: Flight | undefined
  let failedAtMs: number | undefined
  let latestAtMs: number | undefined
  /** Counts calls of `forget`: an answer to an older question is dropped. */
  let forgotten = 0

  /** Infinite for a time that is missing or, after the clock was set back, in the future. */
  const since = (atMs = -Infinity): number => {
    const ms = clock.nowMs() - atMs
    return ms < 0 ? Infinity : ms
  }
  const begin = (): Flight => {
    if (flight && since(flight.atMs) < takeOverMs) return flight
    const [atMs, forgottenThen] = [clock.nowMs(), forgotten]
    const take = (value: T): void => {
      failedAtMs = undefined
      // A cached set of the future is from before the clock was set back.
      const isNewer = !cached || cached.atMs <= atMs || since(cached.atMs) === Infinity
      // Asked before the change that the copy has already: the next read knows of it, too.
      const isOutdated = cached && cached.nearAtMs >= atMs && near?.isOlder(value, cached.value)
      if (forgottenThen === forgotten && isNewer && !isOutdated) {
        cached = { value, atMs, nearAtMs: -Infinity }
        mustAsk = false
      }
    }
    const fail = (): void => {
      failedAtMs = clock.nowMs()
    }
    const attempt = () => read(cached?.value)
    // A second attempt: an object that was reset is back at once.
    const done = attempt()
      .catch(attempt)
      .then(take, fail)
      .finally(() => {
        if (flight === mine) flight = undefined
      })
    keepAlive?.(done)
    const mine = { atMs, done }
    flight = mine
    return mine
  }
  const refuseIfAway = (): void => {
    if (since(failedAtMs) < boundMs) throw unavailable()
  }
  /** Waits for a set that is good enough. @param own A read that this caller began. */
  const waitFor = async (
    isEnough: (set: NonNullable<typeof cached>) => boolean,
    waitMs: number,
    own?: Flight,
  ): Promise<T> => {
    refuseIfAway()
    const mostMs = failedAtMs === undefined ? waitMs : shortWaitMs
    const untilMs = clock.nowMs() + mostMs
    // Counted beside the clock, which may stand still or be set back.
    let polledMs = 0
    let joinedMs = 0
    for (let pollMs = 1; ; pollMs = Math.min(2 * pollMs, maxPollMs)) {
      const leftMs = Math.min(untilMs - clock.nowMs(), mostMs - polledMs)
      if (leftMs <= 0) {
        failedAtMs = clock.nowMs()
        throw unavailable()
      }
      // The object that began this read may be gone, and its answer with it.
      if (joinedMs >= takeOverMs) [flight, joinedMs] = [undefined, 0]
      const before = flight
      const current = begin()
      if (pollMs === 1 && (current !== before || current === own))
        await within(clock, Math.min(leftMs, takeOverMs), current.done)
      else {
        const ms = Math.min(leftMs, pollMs)
        await clock.sleep(ms)
        polledMs += ms
        joinedMs += ms
      }
      if (cached && isEnough(cached)) return cached.value
      if (!flight && failedAtMs !== undefined) throw unavailable()
    }
  }
  const isUsable = ({ atMs, nearAtMs }: NonNullable<typeof cached>): boolean =>
    Math.min(since(atMs), since(nearAtMs)) <= maxAgeMs
  const isFresh = ({ atMs }: NonNullable<typeof cached>): boolean => since(atMs) <= boundMs
  /** The cached set, if it is good enough; reads a newer one behind the answer. */
  const cachedIf = (isEnough: typeof isFresh): T | undefined => {
    if (!cached || !isEnough(cached)) return undefined
    if (since(cached.atMs) > refreshAfterMs && since(failedAtMs) > boundMs) begin()
    return cached.value
  }
  /** Takes the copy, unless the cached set is newer. */
  const readNear = async (): Promise<void> => {
    const [nearAtMs, forgottenThen] = [clock.nowMs(), forgotten]
    nearReadAtMs = nearAtMs
    const copy = await near?.read()
    if (nearReadAtMs === nearAtMs) nearReadAtMs = undefined
    if (copy === undefined || forgottenThen !== forgotten) return
    if (!cached) cached = { value: copy, atMs: -Infinity, nearAtMs }
    else if (near?.isOlder(cached.value, copy)) cached = { ...cached, value: copy, nearAtMs }
    else if (!near?.isOlder(copy, cached.value)) cached = { ...cached, nearAtMs }
  }
  /** Asks for the copy and the Catalog at once, and waits for the first of them. */
  const askBoth = async (): Promise<Flight | undefined> => {
    if (!near || mustAsk || since(nearReadAtMs) < nearWaitMs) return undefined
    const before = flight
    const current = since(failedAtMs) < boundMs ? undefined : begin()
    const waits = [readNear(), ...(current ? [current.done] : [])]
    await within(clock, nearWaitMs, Promise.race(waits))
    return current === before ? undefined : current
  }

  return {
    /** The cached set, refreshed behind the answer. Throws only where nothing was ever read. */
    async now(): Promise<T> {
      const hit = cachedIf(isUsable)
      if (hit !== undefined) return hit
      const known = cached?.value
      const own = await askBoth()
      return (
        cachedIf(isUsable) ??
        waitFor(isUsable, maxWaitMs, own).catch((error: unknown) => {
          if (known === undefined) throw error
          return known
        })
      )
    },
    /** At most `boundMs` old, by the Catalog's own word. Throws if it does not answer within that time. */
    fresh: async (): Promise<T> => cachedIf(isFresh) ?? waitFor(isFresh, boundMs),
    /** The set as of this call, or a later one. At most four reads a second, however many callers there are. */
    async latest(): Promise<T> {
      const askedAtMs = clock.nowMs()
      const isNew = (atMs = -Infinity): boolean => atMs >= askedAtMs && since(atMs) < Infinity
      const pauseMs = minPauseMs - since(latestAtMs)
      if (!isNew(flight?.atMs) && pauseMs > 0) {
        await clock.sleep(pauseMs)
        if (cached && isNew(cached.atMs)) return cached.value
      }
      if (!isNew(flight?.atMs)) {
        flight = undefined
        latestAtMs = clock.nowMs()
      }
      return waitFor(({ atMs }) => isNew(atMs), maxWaitMs)
    },
    /**
     * Called after a change: neither the cached set nor a read under way counts as fresh. The next read is made at
     * once.
     */
    forget(): void {
      forgotten += 1
      flight = undefined
      failedAtMs = undefined
      mustAsk = true
      cached = cached && { ...cached, atMs: -Infinity, nearAtMs: -Infinity }
    },
    /** Throws for a second after a read that failed. */
    refuseIfAway,
    /** Another question to the Catalog had no answer. */
    missed(): void {
      failedAtMs = clock.nowMs()
    },
  }
}
