import type { BundleStore, PluginStore } from '../types/plugin-store.ts'
import type { Clock } from '#contracts/sources.ts'

/** How long what nobody names any more is kept, and where it is. */
export interface CollectorDeps {
  readonly store: Pick<PluginStore, 'unnamed'>
  readonly bundles: Pick<BundleStore, 'remove'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly keepVersionsMs: number
  /** Of one step: a change waits for it. */
  readonly maxBundles?: number
}

/**
 * One step of taking away bundles: what was not in force for so long, is not what a plugin or server has now, and did not
 * come lately. No unfinished run names one: what a run was begun with stands in its own row (docs/decisions/0047).
 *
 * @returns How many; 0 if there is nothing left.
 */
export const createCollector =
  ({ store, bundles, clock, keepVersionsMs, maxBundles = 25 }: CollectorDeps) =>
  async (): Promise<number> => {
    const beforeMs = clock.nowMs() - keepVersionsMs
    const hashes = await store.unnamed(beforeMs, maxBundles)
    if (hashes.length > 0) await bundles.remove(hashes, beforeMs)
    return hashes.length
  }
