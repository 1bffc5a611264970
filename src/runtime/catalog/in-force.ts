import type { Generation } from './types/generation.ts'
import type { PartsInForce } from './types/part-kind.ts'
import type { Clock } from '#contracts/sources.ts'
import type { KeptParts } from './kept-parts.ts'
import { keepNames, type NamesKept } from './lifecycle/look-alikes.ts'

/** What is in force for whoever changes it, and when something of it is about to be written. */
export interface CatalogPorts {
  /** As far as the change may touch it. */
  readonly before: Generation
  readonly inForce: PartsInForce
  readonly names: NamesKept
  readonly begin: () => void
  readonly wrote: (generation: Generation) => void
}

export interface InForceDeps {
  readonly clock: Clock
  readonly kept: KeptParts
  readonly newestNumber: () => Promise<number>
  readonly current: () => Promise<Generation>
  /** Ids of all that is installed. */
  readonly installedIds: () => Promise<readonly string[]>
  /** Told how many rows were written here. */
  readonly onWritten: (rows: number) => void
  /** What is in force was read from D1, and may be another than whoever works with it knows. */
  readonly onReread: () => void
}

/** So long D1 may take to say whether what is kept here is in force; then it is taken to be away. */
const maxAskMs = 1_000

/** Keeps what is in force as D1 has it. Who asks waits for no change but one that is being written. */
export function createInForce({
  clock,
  kept,
  newestNumber,
  current,
  installedIds,
  onWritten,
  onReread,
}: InForceDeps) {
  const names = keepNames(installedIds)
  let isKnown = false
  let loading: Promise<void> | undefined
  let writing: Promise<void> | undefined

  /** Nothing while D1 is away. */
  const askedSoon = async (): Promise<number | undefined> => {
    const done = new AbortController()
    const late = clock.sleep(maxAskMs, done.signal).then(() => undefined)
    return await Promise.race([newestNumber(), late])
      .catch(() => undefined)
      .finally(() => done.abort())
  }
  const load = async (): Promise<void> => {
    const number = kept.number()
    const newest = number === undefined ? await newestNumber() : await askedSoon()
    if (number === undefined || (newest !== undefined && newest !== number)) {
      onWritten(kept.replace(await current()))
      onReread()
    }
    // While D1 is away it is looked at again.
    isKnown = newest !== undefined
  }
  /** The number of the generation in force, which is then kept here. */
  const known = async (): Promise<number> => {
    await writing
    if (!isKnown) await (loading ??= load().finally(() => (loading = undefined)))
    return kept.number() ?? 0
  }
  return {
    known,
    names,
    /** From the moment something is written, nobody is told of the set that was before. */
    async written<T>(before: Generation, work: (ports: CatalogPorts) => Promise<T>): Promise<T> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const begin = () => {
        kept.begin()
        isKnown = false
        writing = promise
        onWritten(1)
      }
      const wrote = (generation: Generation) => {
        onWritten(kept.change(before, generation))
        isKnown = true
      }
      try {
        return await work({ before, inForce: kept, names, begin, wrote })
      } finally {
        resolve()
        if (writing === promise) writing = undefined
        // It was cut: what is in force is read again, by whoever asks next if not now.
        if (!isKnown) await known().catch(() => {})
      }
    },
  }
}
