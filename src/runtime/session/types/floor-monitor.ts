import type { PlanStep } from '#runtime/kernel/types/plan.ts'

/** The step with which a planner says that it takes the conversation back and answers itself. */
export const reclaimStep: PlanStep = { type: 'internal', reason: 'floor:monitor' }

export const monitorReclaims = (step: PlanStep): boolean =>
  step.type === 'internal' && step.reason === reclaimStep.reason
