import { heldBy, type TurnRecord } from '#runtime/kernel/types/journal.ts'
import { addUsage, zeroUsage, type ModelAmount, type Usage } from '#contracts/lease.ts'
import { minusPlatform, usageBeyond } from '../types/platform-usage.ts'
import { everyRun } from '../storage/run-order.ts'
import type { SessionStore } from '../storage/store.ts'
import type { InboxItem, RunRow } from '../storage/stored-rows.ts'

/** What a run has spent, everything below it included. What it started in the background counts with its whole lease until it reports. */
export function spentByRun(row: RunRow, turns: readonly TurnRecord[]): Usage {
  const spent = turns.reduce((sum, turn) => addUsage(sum, turn.usage), zeroUsage)
  const late = Object.entries(row.settledLate ?? {}).map(([call, usage]) => ({ call, usage }))
  const settled = [...(row.inbox ?? []), ...late].reduce(
    (sum, item) => addUsage(sum, correctionOf(item, turns)),
    spent,
  )
  return asConfirmed(settled, row)
}

/** A usage with what is known by now of attempts that may have reached a provider. Never below nothing. */
export function asConfirmed(booked: Usage, row: RunRow): Usage {
  if (!row.confirmed) return booked
  const usage = addUsage(booked, confirmedOf(row))
  return { ...usage, ...notBelowZero(usage), unconfirmed: notBelowZero(usage.unconfirmed) }
}

const notBelowZero = ({ tokens, costNanoUsd }: ModelAmount = zeroUsage): ModelAmount => ({
  tokens: Math.max(0, tokens),
  costNanoUsd: Math.max(0, costNanoUsd),
})

/** What became of such attempts, beside what they were booked with. */
function confirmedOf({ confirmed = {} }: RunRow): Usage {
  const corrections = Object.values(confirmed).map(({ held, spent }) => ({
    ...zeroUsage,
    tokens: spent.tokens - held.tokens,
    costNanoUsd: spent.costNanoUsd - held.costNanoUsd,
    unconfirmed: { tokens: -held.tokens, costNanoUsd: -held.costNanoUsd },
  }))
  return corrections.reduce(addUsage, zeroUsage)
}

/** What the runs of a session that are over have spent together. Summed up once where nobody has counted yet. */
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

/** The same once what came late set right what a run that is over was counted with. */
export function spentAfter(before: RunRow, after: RunRow, store: SessionStore): Usage {
  const turns = store.turns(before.order)
  const others = usageBeyond(spentByFinished(store), spentByRun(before, turns))
  return addUsage(others, spentByRun(after, turns))
}

/** No park comes after the end. */
const overFrom = 1_000_000_000

/**
 * How far a run has come, for the day's ledger: it counts up whenever what it has spent may be another amount than
 * was settled. Read from the record, so it is the same whoever asks and after every crash. An end whose turns cannot
 * be read comes after every park all the same.
 */
export function stepOf(row: RunRow, turns: readonly TurnRecord[], isOver: boolean): number {
  const reports = (row.inbox ?? []).filter(({ call }) => call !== undefined).length
  const late = Object.keys(row.settledLate ?? {}).length
  const parks = turns.flatMap(({ events }) => events).filter(({ type }) => type === 'run_parked')
  const confirmed = Object.keys(row.confirmed ?? {}).length
  return (isOver ? overFrom : parks.length) + reports + late + confirmed
}

/** What the calls of its open turn hold of the run's lease. */
export function heldByRun(turns: readonly TurnRecord[]): Usage {
  const open = turns.at(-1)
  return open && !open.isDone ? heldBy(open.calls) : zeroUsage
}

/** A call that nobody waited for was booked with its whole lease (or what it said it took): what it really took replaces that. */
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
