import { addUsage, zeroUsage, type Usage } from '#contracts/lease.ts'
import type { SessionStore } from '../storage/store.ts'
import { spentByRun } from './spending.ts'

/** Runs that are added up at once. */
const summedAtOnce = 16

/** What all runs of a session have spent. Those at its beginning that are over are added up once. */
export interface SpentTotal {
  /** Adds up what is not known yet, a few runs at a time. */
  readonly total: (rest: () => Promise<void>) => Promise<Usage>
  /** A run that is over has spent something else than was known. */
  readonly forget: () => void
}

export function createSpentTotal(store: SessionStore): SpentTotal {
  const nothing = { upTo: 0, usage: zeroUsage }
  let known = nothing
  /** Counts up when what was known holds no more. */
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
      for (let from = known.upTo + 1; from <= last; from += summedAtOnce) {
        for (const row of store.runs(from, from + summedAtOnce - 1)) {
          const turns = store.turns(row.order)
          usage = addUsage(usage, spentByRun(row, turns))
          isOver &&= turns.at(-1)?.final !== undefined
          // Others may have had the object meanwhile, and added up further, or changed what was added up.
          if (isOver && change === began && row.order > known.upTo)
            known = { upTo: row.order, usage }
        }
        if (from + summedAtOnce <= last) await rest()
      }
      return usage
    },
  }
}
