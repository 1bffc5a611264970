import { toRunOptions } from '#contracts/run-options.ts'
import type { ReadyAgent, SessionRuntime } from '#contracts/runtime.ts'
import type { Submission } from '#contracts/submission.ts'

/** The agent of a submission, with what was asked of it; `undefined` if there is no such agent. */
export const loadAgent = (
  submission: Submission,
  { agents }: Pick<SessionRuntime, 'agents'>,
): Promise<ReadyAgent | undefined> =>
  agents.load(submission.agent, toRunOptions(submission), submission.lineage?.lease)
