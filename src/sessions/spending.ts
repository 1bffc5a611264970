import type { TurnRecord } from '#contracts/journal.ts'
import { addUsage, zeroAmount, zeroUsage, type Amount, type Usage } from '#contracts/lease.ts'
import type { InboxItem, RunRow } from './store.ts'

/** What a run has spent, everything below it included. What it started in the background counts with its whole lease until it reports. */
export function spentByRun(row: RunRow, turns: readonly TurnRecord[]): Usage {
  const spent = turns.reduce((sum, turn) => addUsage(sum, turn.usage), zeroUsage)
  return (row.inbox ?? []).reduce((sum, item) => addUsage(sum, correctionOf(item, turns)), spent)
}

/** What its waiting calls hold of the run's lease. */
export function heldByRun(turns: readonly TurnRecord[]): Amount {
  const open = turns.at(-1)
  if (!open || open.isDone) return zeroAmount
  const held = open.calls.flatMap(({ pause, outcome, reserved }) =>
    pause && !outcome && reserved ? [{ ...zeroUsage, ...reserved }] : [],
  )
  return held.reduce(addUsage, zeroUsage)
}

/** A background call was booked with its whole lease: what it really took replaces that. */
function correctionOf({ call, usage }: InboxItem, turns: readonly TurnRecord[]): Usage {
  const record = turns.flatMap(({ calls }) => calls).find(({ id }) => id === call)
  if (!usage || !record?.outcome || !record.reserved) return zeroUsage
  const { tokens, costNanoUsd, turns: turnCount, toolCalls, children } = record.reserved
  return {
    ...usage,
    tokens: usage.tokens - tokens,
    costNanoUsd: usage.costNanoUsd - costNanoUsd,
    turns: usage.turns - turnCount,
    // The call itself, and the child itself, stay counted.
    toolCalls: usage.toolCalls + 1 - toolCalls,
    children: usage.children + 1 - children,
    timeMs: 0,
  }
}
