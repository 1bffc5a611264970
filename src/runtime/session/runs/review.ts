import type { Ending } from '#runtime/kernel/types/agent-result.ts'
import type { EventDraft } from '#contracts/event.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Limits } from '#contracts/lease.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { turnOfPause, warningsIn } from './limit-reached.ts'
import { loopIn } from './loop.ts'

const defaultRounds = 5

export interface ReviewOptions {
  readonly limits: Limits
  /** So often in a row the same calls with the same results are a loop; 0 is never. */
  readonly rounds: number | undefined
  readonly row: RunRow
}

/** What is to be told before a run begins another turn, and whether it is to end because it goes round in circles. */
export function review(
  turns: readonly TurnRecord[],
  { limits, rounds = defaultRounds, row }: ReviewOptions,
): { readonly tell: readonly EventDraft[]; readonly end?: Ending | undefined } {
  const warnings = warningsIn(turns, limits)
  const from = allowedUpTo(row)
  const loop = loopIn(
    turns.filter(({ turn }) => turn > from),
    rounds,
  )
  if (!loop) return { tell: warnings }
  const isTold = turns.at(-1)?.events.some(({ type }) => type === 'loop_suspected')
  const told = isTold ? [] : [{ type: 'loop_suspected' as const, data: loop }]
  const message = `${loop.calls.join(', ')} came ${loop.rounds} times in a row with the same arguments and results.`
  return {
    tell: [...warnings, ...told],
    end: { state: 'stopped', code: 'loop_suspected', message },
  }
}

/** The last turn at which somebody said that the run may go on as it does. */
const allowedUpTo = ({ answers = {} }: RunRow): number =>
  Math.max(
    0,
    ...Object.entries(answers).map(([call, { kind }]) =>
      kind === 'approved' ? turnOfPause(call) : 0,
    ),
  )
