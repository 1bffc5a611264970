import { addUsage, zeroUsage, type Usage } from '#contracts/lease.ts'
import type { RunSpent } from '../storage/spent-of.ts'
import type { SessionStore } from '../storage/store.ts'
import { spentByRun } from './spending.ts'

/** Bytes that are read in one step. */
const maxBytesAtOnce = 4 * 1_048_576

/** The spending of all runs of a session. Finished runs at its beginning are added up once. */
export interface SpentTotal {
  /** Adds up the unknown rest, a few runs at a time. */
  readonly total: (rest: () => Promise<void>) => Promise<Usage>
  /** The spending of a finished run has changed. */
  readonly forget: () => void
}

export function createSpentTotal(store: SessionStore): SpentTotal {
  const nothing = { upTo: 0, usage: zeroUsage }
  let known = nothing
  /** Counts up when the known total becomes wrong. */
  let change = 0
  return {
    forget() {
      known = nothing
      change += 1
    },
    async total(rest) {
      const began = change
      let { usage } = known
      let isOver = true
      const last = store.lastOrder()
      let bytes = 0
      for (let order = known.upTo + 1; order <= last; order += 1) {
        const run = store.spentOf(order) ?? asAWhole(order, store)
        usage = addUsage(usage, run.usage)
        isOver &&= run.isOver
        bytes += run.bytes
        // Another request may have added up further meanwhile, or changed a run.
        if (isOver && change === began && order > known.upTo) known = { upTo: order, usage }
        if (bytes < maxBytesAtOnce) continue
        bytes = 0
        await rest()
      }
      return usage
    },
  }
}

/** A run that is stored in parts, or was corrected afterwards. */
function asAWhole(order: number, store: SessionStore): RunSpent {
  const [row] = store.runs(order, order)
  const turns = store.turns(order)
  const isOver = !row || turns.at(-1)?.final !== undefined
  return { usage: row ? spentByRun(row, turns) : zeroUsage, isOver, bytes: maxBytesAtOnce }
}
