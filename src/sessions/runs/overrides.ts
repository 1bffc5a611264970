import { toRunOptions } from '#contracts/run-options.ts'
import type { AgentOverrides } from '#contracts/runtime.ts'
import type { RunRow } from '../storage/store.ts'

/** What a submission asks of its agent. */
export const overridesOf = (submission: RunRow['submission']): AgentOverrides => ({
  ...toRunOptions(submission),
  ...(submission.lineage && { lease: submission.lineage.lease }),
})
