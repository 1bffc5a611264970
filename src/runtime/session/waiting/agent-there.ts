import type { SessionRuntime } from '../types/runtime.ts'
import { loadAgent } from '../runs/load-agent.ts'
import { pausesOf } from '../storage/open-pauses.ts'
import { pinnedIn } from '../storage/run-pin.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { conflict } from './pauses.ts'

export interface AgentThereOptions {
  readonly runtime: Pick<SessionRuntime, 'agents'>
  readonly current: { readonly parts: { readonly store: SessionStore } }
}

/**
 * A decision wakes a run, and a run without its agent fails for good. So while an agent is disabled, or a new version of
 * it waits for a grant, its runs go on waiting. Throws `request_conflict`.
 */
export async function refuseWithoutAgent(
  row: RunRow,
  { runtime, current }: AgentThereOptions,
): Promise<void> {
  const { store } = current.parts
  const { submission, order } = row
  if (store.final(order) || pausesOf(row, store.turns(order).at(-1)).length === 0) return
  if (await loadAgent(submission, runtime, { pin: pinnedIn(row, store) })) return
  throw conflict(
    `The agent "${submission.agent}" is not enabled: it was disabled or removed, or a new version of it waits for a grant. The run goes on waiting; once the agent is enabled, decide again.`,
  )
}
