import type { SessionRuntime } from '../types/runtime.ts'
import { loadAgent } from '../runs/load-agent.ts'
import { pausesOf } from '../storage/open-pauses.ts'
import { pinnedIn } from '../storage/run-pin.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { conflict } from './pauses.ts'

export interface AgentThereOptions {
  readonly runtime: Pick<SessionRuntime, 'agents'>
  readonly parts: () => { readonly store: SessionStore }
}

/**
 * What is decided wakes a run, and one whose agent is gone fails for good: as long as an agent is disabled, or waits for
 * the grant of a version that asks for more, its runs go on waiting. Throws `request_conflict`.
 */
export async function refuseWithoutAgent(
  row: RunRow,
  { runtime, parts }: AgentThereOptions,
): Promise<void> {
  const { store } = parts()
  const { submission, order } = row
  if (store.final(order) || pausesOf(row, store.turns(order).at(-1)).length === 0) return
  if (await loadAgent(submission, runtime, { pin: pinnedIn(row, store) })) return
  throw conflict(
    `The agent "${submission.agent}" is not enabled: it was disabled or removed, or a new version of it waits for a grant. The run goes on waiting; once the agent is enabled, decide again.`,
  )
}
