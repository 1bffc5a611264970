import { floorChangeOf, wordsOf } from '../types/holder-result.ts'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import { labelOfResult } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'
import type { RunRow } from '../storage/stored-rows.ts'

type Said = Extract<Message, { role: 'assistant' }>

/** The words that the agent with the conversation said to the user in a turn; the session's own agent passed them on. */
export function spokenIn(row: Pick<RunRow, 'passedOn'>, { calls }: TurnRecord): readonly Said[] {
  const isAnswer = ({ outcome }: CallRecord): boolean => {
    const change = floorChangeOf(outcome)
    return row.passedOn !== undefined || (change !== undefined && 'take' in change)
  }
  return calls.filter(isAnswer).flatMap((call): Said[] => {
    const { tool, outcome } = call
    if (!outcome) return []
    const label = labelOfResult(outcome)
    return [
      {
        role: 'assistant',
        text: outcome.ok ? wordsOf(outcome.output) : outcome.error.message,
        by: tool,
        taint: [`tool:${tool}`],
        ...(label && { label }),
      },
    ]
  })
}
