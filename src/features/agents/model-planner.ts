import { defined } from '#contracts/defined.ts'
import type { AgentSpec } from '#contracts/agent.ts'
import { floorChangeOf, wordsOf } from '#runtime/session/types/floor.ts'
import type { JsonObject } from '#contracts/json.ts'
import { afterFirstCall } from '#runtime/session/types/submission.ts'
import { type ModelReply } from '#contracts/model.ts'
import type {
  ActionResult,
  Planner,
  PlanStep,
  Reflection,
  Reflector,
} from '#runtime/kernel/types/plan.ts'
import type { SchemaValidator } from '#contracts/tool.ts'

/** The default planner: asks the agent's model. */
export const modelPlanner: Planner = {
  async plan({ agent, messages, tools, turn, generate }) {
    const reply = await generate({
      model: agent.model,
      messages,
      tools,
      parameters: turn === 1 ? agent.parameters : afterFirstCall(agent.parameters),
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
      ({ id, name, input, opaque }) =>
        ({ type: 'tool', callId: id, toolId: name, input, ...defined({ opaque }) }) as const,
    ),
  ]
}

/** Ends a run that only compacts (which was done before the planner is asked) or only keeps its messages. */
export const withCompaction = (planner: Planner): Planner => ({
  plan: async (state) =>
    (state.caller.options.compact ?? state.caller.options.isNote)
      ? [{ type: 'finish', message: '' }]
      : planner.plan(state),
})

/** The default reflector: a `finish` step meets the goal. */
export const createFinishReflector = (validator: SchemaValidator): Reflector => ({
  async reflect({ agent, steps, actions }) {
    const handed = actions.flatMap((action) => handedOver(action, steps))[0]
    if (handed) return handed
    const finish = steps.find((step) => step.type === 'finish')
    if (!finish) return { decision: 'continue' }
    const output = finish.output ?? outputIn(finish.message, agent, validator)
    return { decision: 'finish', result: finish.message, ...defined({ output }) }
  },
})

/**
 * Ends the run after a handoff: the agent that takes the conversation has answered, the agent that returns it has
 * spoken.
 */
function handedOver(
  { result }: ActionResult,
  steps: readonly PlanStep[],
): readonly Extract<Reflection, { decision: 'finish' }>[] {
  const change = floorChangeOf(result)
  if (!change || !result.ok) return []
  if ('take' in change) return [{ decision: 'finish', result: wordsOf(result.output) }]
  const { summary } = change.return
  const said = steps.flatMap((step) => (step.type === 'message' ? [step.message] : [])).join('\n')
  return [{ decision: 'finish', result: said || summary, output: { summary } }]
}

/** The JSON answer of an agent with an output schema. An answer that does not fit the schema stays text. */
function outputIn(
  text: string,
  { outputSchema }: AgentSpec,
  validator: SchemaValidator,
): JsonObject | undefined {
  const output = outputSchema && parseObject(text)
  return output && validator.validate(outputSchema, output).ok ? output : undefined
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined
  } catch {
    return undefined
  }
}
