import type { Message } from '#contracts/message.ts'
import type { ReadyAgent } from '../types/runtime.ts'
import type { RunOutcome } from '../types/run-view.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { RunParts } from './live-runs.ts'

/** Recalls and keeps long-term memory around a run; does nothing for an agent without memory, or for a run without a model. */
export function memoryOf(
  { id, order, submission }: RunRow,
  { spec }: ReadyAgent,
  { runtime, store, identity }: Pick<RunParts, 'runtime' | 'store' | 'identity'>,
): {
  readonly recall: () => Promise<Message | undefined>
  readonly keep: (outcome: RunOutcome) => Promise<void>
} {
  const { memory } = runtime
  const { principal, messages, lineage } = submission
  const isSilent = submission.directCall !== undefined || submission.compact !== undefined
  const { memory: settings, knowledge } = isSilent ? {} : spec
  // The notes of a child belong to the session that asked for it, and are deleted with that.
  const session = lineage?.rootSession ?? identity.id
  const about = { principal, agent: spec.id, session, run: id, asked: messages }
  return {
    recall: async () => {
      // A run that has begun goes on with the memory of its beginning.
      if (!memory || !(settings ?? knowledge) || store.lastTurn(order) > 0) return undefined
      return memory.recall(about, { memory: settings, knowledge })
    },
    keep: async (outcome) => {
      if (memory && settings && outcome.state === 'completed')
        await memory.keep(about, settings, outcome)
    },
  }
}
