import { heldBy, type TurnRecord } from '#contracts/journal.ts'
import { addUsage, zeroUsage, type Usage } from '#contracts/lease.ts'
import type { InboxItem, RunRow } from './store.ts'

/** What a run has spent, everything below it included. What it started in the background counts with its whole lease until it reports. */
export function spentByRun(row: RunRow, turns: readonly TurnRecord[]): Usage {
  const spent = turns.reduce((sum, turn) => addUsage(sum, turn.usage), zeroUsage)
  const late = Object.entries(row.settledLate ?? {}).map(([call, usage]) => ({ call, usage }))
  return [...(row.inbox ?? []), ...late].reduce(
    (sum, item) => addUsage(sum, correctionOf(item, turns)),
    spent,
  )
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
  }
}
