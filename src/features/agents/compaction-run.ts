import type { Planner } from '#runtime/kernel/types/plan.ts'

/** A run that only compacts, which was done before its planner is asked, or only keeps its messages: it is over, and says nothing. */
export const withCompaction = (planner: Planner): Planner => ({
  plan: async (state) =>
    (state.caller.options.compact ?? state.caller.options.isNote)
      ? [{ type: 'finish', message: '' }]
      : planner.plan(state),
})
