import type { BundleStore, PluginStore } from '../types/plugin-store.ts'
import type { Clock } from '#contracts/sources.ts'

/** Where unreferenced bundles are, and how long they stay. */
export interface CollectorDeps {
  readonly store: Pick<PluginStore, 'unnamed'>
  readonly bundles: Pick<BundleStore, 'remove'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly keepVersionsMs: number
  /** The most bundles of one step: a change waits for the step. */
  readonly maxBundles?: number
}

/**
 * Removes a batch of bundles that no generation of this period named, no plugin or server has now, and that were not
 * stored lately. No unfinished run needs such a bundle: the row of a run has the parts that the run began with
 * (docs/decisions/0047).
 *
 * @returns How many were removed; 0 if there are no more.
 */
export const createCollector =
  ({ store, bundles, clock, keepVersionsMs, maxBundles = 25 }: CollectorDeps) =>
  async (): Promise<number> => {
    const beforeMs = clock.nowMs() - keepVersionsMs
    const hashes = await store.unnamed(beforeMs, maxBundles)
    if (hashes.length > 0) await bundles.remove(hashes, beforeMs)
    return hashes.length
  }
