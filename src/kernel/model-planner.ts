import { IsolaError } from '#contracts/errors.ts'
import { afterFirstCall, type ModelReply } from '#contracts/model.ts'
import type { Planner, PlanStep, Reflector } from '#contracts/plan.ts'

/** The default planner: asks the agent's model. */
export const modelPlanner: Planner = {
  async plan({ agent, messages, tools, turn, left, generate }) {
    const reply = await generate({
      model: agent.model,
      messages,
      tools,
      parameters: turn === 1 ? agent.parameters : afterFirstCall(agent.parameters),
      maxCostNanoUsd: left.maxCostNanoUsd,
      ...(agent.outputSchema && tools.length === 0 && { outputSchema: agent.outputSchema }),
    })
    return stepsOf(reply)
  },
}

function stepsOf({ text, toolCalls, finishReason }: ModelReply): PlanStep[] {
  if (toolCalls.length === 0) {
    return [
      { type: 'finish', message: text, ...(finishReason !== 'stop' && { reason: finishReason }) },
    ]
  }
  const said: PlanStep[] = text === '' ? [] : [{ type: 'message', message: text }]
  return [
    ...said,
    ...toolCalls.map(
      ({ id, name, input }) => ({ type: 'tool', callId: id, toolId: name, input }) as const,
    ),
  ]
}

/** The default reflector: a `finish` step meets the goal. */
export const finishReflector: Reflector = {
  async reflect({ steps }) {
    const finish = steps.find((step) => step.type === 'finish')
    if (!finish) return { decision: 'continue' }
    return {
      decision: 'finish',
      result: finish.message,
      ...(finish.output && { output: finish.output }),
    }
  },
}

const maxCallsPerTurn = 64

/**
 * Checks what a planner said before anything is done (I18), and gives every call an id that is unique in its run
 * and the same whenever the same turn asks for the same call.
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
