import type { AgentPin } from '#contracts/agent-pin.ts'
import { toRunOptions, type RunOptions } from '#contracts/run-options.ts'
import type { ReadyAgent, SessionRuntime } from '#contracts/runtime.ts'
import type { Submission } from '#contracts/submission.ts'

/**
 * The agent of a submission, with what was asked of it; `undefined` if there is no such agent.
 *
 * @param pin What its run was begun with, if it was begun before.
 */
export async function loadAgent(
  submission: Pick<Submission, 'agent' | 'lineage'> & RunOptions,
  { agents }: Pick<SessionRuntime, 'agents'>,
  pin?: AgentPin,
): Promise<ReadyAgent | undefined> {
  const use = { lease: submission.lineage?.lease, pinned: pin?.agent }
  const ready = await agents.load(submission.agent, toRunOptions(submission), use)
  return ready && pin ? { ...ready, pin } : ready
}
