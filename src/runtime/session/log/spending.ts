import { heldBy, type TurnRecord } from '#runtime/kernel/types/journal.ts'
import { addUsage, zeroUsage, type ModelAmount, type Usage } from '#contracts/lease.ts'
import { minusPlatform, usageBeyond } from '../types/platform-usage.ts'
import { everyRun, type SessionStore } from '../storage/store.ts'
import type { InboxItem, RunRow } from '../storage/stored-rows.ts'
import type { RunSpent } from '../storage/log-rows.ts'

/**
 * The spending of a run and of everything below it. A background child counts with its whole lease until it reports.
 */
export function spentByRun(row: RunRow, turns: readonly TurnRecord[]): Usage {
  const spent = turns.reduce((sum, turn) => addUsage(sum, turn.usage), zeroUsage)
  const late = Object.entries(row.settledLate ?? {}).map(([call, usage]) => ({ call, usage }))
  const settled = [...(row.inbox ?? []), ...late].reduce(
    (sum, item) => addUsage(sum, correctionOf(item, turns)),
    spent,
  )
  return asConfirmed(settled, row)
}

/** A usage corrected by settled attempts that may have reached a provider. Never below zero. */
export function asConfirmed(booked: Usage, row: RunRow): Usage {
  if (!row.confirmed) return booked
  const usage = addUsage(booked, confirmedOf(row))
  return { ...usage, ...notBelowZero(usage), unconfirmed: notBelowZero(usage.unconfirmed) }
}

const notBelowZero = ({ tokens, costNanoUsd }: ModelAmount = zeroUsage): ModelAmount => ({
  tokens: Math.max(0, tokens),
  costNanoUsd: Math.max(0, costNanoUsd),
})

/** The difference between the settled attempts and their bookings. */
function confirmedOf({ confirmed = {} }: RunRow): Usage {
  const corrections = Object.values(confirmed).map(({ held, spent }) => ({
    ...zeroUsage,
    tokens: spent.tokens - held.tokens,
    costNanoUsd: spent.costNanoUsd - held.costNanoUsd,
    unconfirmed: { tokens: -held.tokens, costNanoUsd: -held.costNanoUsd },
  }))
  return corrections.reduce(addUsage, zeroUsage)
}

/** The spending of all finished runs of a session; summed up if the total is not stored yet. */
export function spentByFinished(store: SessionStore): Usage {
  const known = store.spent()
  if (known) return known
  let sum = zeroUsage
  for (const row of everyRun(store)) {
    if (store.final(row.order)) sum = addUsage(sum, spentByRun(row, store.turns(row.order)))
  }
  return sum
}

/** The same once this turn has ended the run. */
export function spentWith(row: RunRow, last: TurnRecord, store: SessionStore): Usage {
  const before = store.turns(row.order).filter(({ turn }) => turn !== last.turn)
  return addUsage(spentByFinished(store), spentByRun(row, [...before, last]))
}

/** The same after a late correction of a finished run. */
export function spentAfter(before: RunRow, after: RunRow, store: SessionStore): Usage {
  const turns = store.turns(before.order)
  const others = usageBeyond(spentByFinished(store), spentByRun(before, turns))
  return addUsage(others, spentByRun(after, turns))
}

/** The step of an end is above the step of every pause. */
const overFrom = 1_000_000_000

/**
 * The step of a run for the day's ledger: it counts up whenever the spending may differ from the settled amount. It is
 * computed from the rows, so every caller gets the same, also after a crash. The end comes after every pause, even
 * if the turns cannot be read.
 */
export function stepOf(row: RunRow, turns: readonly TurnRecord[], isOver: boolean): number {
  const reports = (row.inbox ?? []).filter(({ call }) => call !== undefined).length
  const late = Object.keys(row.settledLate ?? {}).length
  const parks = turns.flatMap(({ events }) => events).filter(({ type }) => type === 'run_parked')
  const confirmed = Object.keys(row.confirmed ?? {}).length
  return (isOver ? overFrom : parks.length) + reports + late + confirmed
}

/** The reservations of the calls in the open turn. */
export function heldByRun(turns: readonly TurnRecord[]): Usage {
  const open = turns.at(-1)
  return open && !open.isDone ? heldBy(open.calls) : zeroUsage
}

/** A background call was booked with its whole lease, or with its own report: the outcome's usage replaces that. */
function correctionOf(
  { call, usage }: Pick<InboxItem, 'call' | 'usage'>,
  turns: readonly TurnRecord[],
): Usage {
  const record = turns.flatMap(({ calls }) => calls).find(({ id }) => id === call)
  if (!usage || !record?.reserved) return zeroUsage
  const said = record.outcome?.usage
  // The call itself, and the child itself, stay counted.
  const booked = said
    ? { ...said, toolCalls: said.toolCalls + 1, children: said.children + 1 }
    : record.reserved
  const { tokens, costNanoUsd, turns: turnCount, toolCalls, children } = booked
  return {
    ...usage,
    tokens: usage.tokens - tokens,
    costNanoUsd: usage.costNanoUsd - costNanoUsd,
    turns: usage.turns - turnCount,
    toolCalls: usage.toolCalls + 1 - toolCalls,
    children: usage.children + 1 - children,
    timeMs: 0,
    ...((usage.unconfirmed ?? said?.unconfirmed) && {
      unconfirmed: usageBeyond(usage, said ?? zeroUsage).unconfirmed!,
    }),
    ...(usage.platform && { platform: minusPlatform(usage.platform, said?.platform) }),
    platformNanoUsd: (usage.platformNanoUsd ?? 0) - (booked.platformNanoUsd ?? 0),
  }
}

/** Bytes that are read in one step. */
const maxBytesAtOnce = 4 * 1_048_576

/** The spending of all runs of a session. Finished runs at its beginning are added up once. */
export type SpentTotal = ReturnType<typeof createSpentTotal>

export function createSpentTotal(store: SessionStore) {
  const nothing = { upTo: 0, usage: zeroUsage }
  let known = nothing
  /** Counts up when the known total becomes wrong. */
  let change = 0
  return {
    /** The spending of a finished run has changed. */
    forget: () => {
      known = nothing
      change += 1
    },
    /** Adds up the unknown rest, a few runs at a time. */
    total: async (rest: () => Promise<void>) => {
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
