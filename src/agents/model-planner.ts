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
