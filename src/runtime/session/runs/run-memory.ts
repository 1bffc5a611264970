import type { Message } from '#contracts/message.ts'
import type { ReadyAgent, SessionRuntime } from '../types/runtime.ts'
import type { RunOutcome } from '../types/run-view.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'

/** What an agent's long-term memory and documents do around a run: nothing for one that has none, or for a run without a model. */
export function memoryOf(
  { id, order, submission }: RunRow,
  { spec }: ReadyAgent,
  {
    runtime,
    store,
    sessionId,
  }: {
    readonly runtime: Pick<SessionRuntime, 'memory'>
    readonly store: Pick<SessionStore, 'lastTurn'>
    readonly sessionId: () => string
  },
): {
  readonly recall: () => Promise<Message | undefined>
  readonly keep: (outcome: RunOutcome) => Promise<void>
} {
  const { memory } = runtime
  const { principal, messages, lineage } = submission
  const isSilent = submission.directCall !== undefined || submission.compact !== undefined
  const { memory: settings, knowledge } = isSilent ? {} : spec
  // A child's notes are forgotten with the conversation that it was asked in.
  const session = lineage?.rootSession ?? sessionId()
  const about = { principal, agent: spec.id, session, run: id, asked: messages }
  return {
    recall: async () => {
      // What has begun goes on with what it began with.
      if (!memory || !(settings ?? knowledge) || store.lastTurn(order) > 0) return undefined
      return memory.recall(about, { memory: settings, knowledge })
    },
    keep: async (outcome) => {
      if (memory && settings && outcome.state === 'completed')
        await memory.keep(about, settings, outcome)
    },
  }
}
