import type { Generation, HeldPart } from './types/generation.ts'
import type { PartListener } from './types/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import type { StoredParts } from './stored-parts.ts'
import type { ChangePorts } from './lifecycle/lifecycle.ts'
import { keepNames } from './lifecycle/names.ts'
import { within } from './cached-set.ts'

export interface InForceDeps {
  readonly clock: Clock
  readonly kept: StoredParts
  readonly newestNumber: () => Promise<number>
  readonly current: () => Promise<Generation>
  /** Ids of all installed extensions. */
  readonly installedIds: () => Promise<readonly string[]>
  /** Called once another generation is stored here. */
  readonly onChanged: () => void
  /** Receives how many rows were written here. */
  readonly onWritten: (rows: number) => void
}

/** How long D1 may take to say which generation is the newest; after that it counts as away. */
const maxAskMs = 1_000
/** A listener subscribes again after this time, in case its connection broke silently. */
const maxListenMs = 30_000
/** How long a change waits for one listener to end its call. */
const maxTellMs = 500

/** The set in force as D1 has it, and the calls that listen for the end of their part. */
export function createInForce({
  clock,
  kept,
  newestNumber,
  current,
  installedIds,
  onChanged,
  onWritten,
}: InForceDeps) {
  const names = keepNames(installedIds)
  const listeners = new Set<{ readonly part: HeldPart; readonly tell: () => Promise<void> }>()
  let isKnown = false
  let loading: Promise<void> | undefined
  let writing: Promise<void> | undefined

  const stands = ({ kind, id, epoch }: HeldPart): boolean =>
    kept.named([id]).some((part) => part.kind === kind && part.epoch === epoch)
  /** Notifies the listeners whose part is no longer in force, and waits until they have ended their calls. */
  const tellListeners = async (): Promise<void> => {
    const concerned = [...listeners].filter(({ part }) => !stands(part))
    await Promise.all(concerned.map(({ tell }) => tell()))
  }
  /** The newest number in D1; nothing while D1 is away. */
  const askedSoon = async (): Promise<number | undefined> => {
    const newest = await within(clock, maxAskMs, newestNumber()).catch(() => undefined)
    return newest === 'late' ? undefined : newest
  }
  const load = async (): Promise<void> => {
    const number = kept.number()
    const newest = number === undefined ? await newestNumber() : await askedSoon()
    // A change that began meanwhile stores what it writes.
    if (number !== undefined && writing) return
    if (number === undefined || (newest !== undefined && newest !== number)) {
      onWritten(kept.replace(await current()))
      onChanged()
      void tellListeners()
    }
    // While D1 is away the next question asks again.
    isKnown = newest !== undefined
  }
  /** Compares the stored number with D1's, unless that was done; one comparison at a time. */
  const compared = async (): Promise<void> => {
    await writing
    if (!isKnown) await (loading ??= load().finally(() => (loading = undefined)))
  }
  /**
   * The number of the generation in force. Its parts are stored here once this resolves. An object that was loaded anew
   * answers from its storage, where every change is, and compares that with D1 behind the answer.
   */
  const known = async (): Promise<number> => {
    await writing
    const comparing = compared()
    if (kept.number() === undefined) await comparing
    else comparing.catch(() => {})
    return kept.number() ?? 0
  }
  return {
    known,
    /** Resolves once the stored generation is D1's, or D1 is away. */
    compared,
    names,
    tellListeners,
    /** Answers when the part is gone, when the listener's call is over, or after half a minute. */
    async hold(part: HeldPart, listener: PartListener): Promise<void> {
      await known()
      if (!stands(part)) return listener.gone()
      const { promise: told, resolve } = Promise.withResolvers<void>()
      const tell = async () => {
        // A listener that cannot be reached has ended.
        await within(clock, maxTellMs, listener.gone()).catch(() => {})
        resolve()
      }
      const mine = { part, tell }
      listeners.add(mine)
      const over = listener.over().catch(() => {})
      await within(clock, maxListenMs, Promise.race([told, over]))
      listeners.delete(mine)
    },
    /** Writes a change. From the moment it begins to be written, questions wait for its end. */
    async written<T>(before: Generation, work: (ports: ChangePorts) => Promise<T>): Promise<T> {
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
        onChanged()
      }
      try {
        return await work({ before, inForce: kept, names, begin, wrote })
      } finally {
        resolve()
        if (writing === promise) writing = undefined
        // The change was cut: the set in force is read again, now or at the next request.
        if (!isKnown) await known().catch(() => {})
      }
    },
  }
}
