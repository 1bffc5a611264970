import { IsolaError } from '#contracts/errors.ts'
import type { PlanStep } from './types/plan.ts'

const maxCallsPerTurn = 64

/**
 * Checks a plan before any step is done (I18), and gives every call an id that is unique in its run. The same turn with
 * the same call gets the same id.
 */
export function checkPlan(
  steps: readonly PlanStep[],
  turn: number,
  sha256: (text: string) => string,
): readonly PlanStep[] {
  const calls = steps.filter((step) => step.type === 'tool')
  const invalid = (message: string) => new IsolaError('model_invalid_reply', message)
  if (steps.length === 0) throw invalid('The planner decided nothing.')
  if (calls.length > 0 && steps.some(({ type }) => type === 'finish')) {
    throw invalid('The planner finished and asked for calls in the same turn.')
  }
  // An over-eager turn does not cost the run: its first calls are made, and the model sees which.
  const kept = steps.filter((step) => step.type !== 'tool' || calls.indexOf(step) < maxCallsPerTurn)
  return kept.map((step, index) => {
    if (step.type !== 'tool') return step
    const hash = sha256(`${step.toolId} ${JSON.stringify(step.input)}`).slice(0, 8)
    return { ...step, callId: `call_${turn}_${index}_${hash}` }
  })
}
