import type { Planner } from '#contracts/plan.ts'

/** A run that only compacts: that was done before its planner is asked, so it is over, and says nothing. */
export const withCompaction = (planner: Planner): Planner => ({
  plan: async (state) =>
    state.caller.options.compact ? [{ type: 'finish', message: '' }] : planner.plan(state),
})
