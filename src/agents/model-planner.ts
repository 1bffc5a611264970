import { afterFirstCall, type ModelReply } from '#contracts/model.ts'
import { toDirectOutcome, type DirectCall } from '#contracts/direct-call.ts'
import type { Message } from '#contracts/message.ts'
import type { ActionResult, Planner, PlanStep, Reflection, Reflector } from '#contracts/plan.ts'

/** The default planner: asks the agent's model; a direct call is made without one. */
export const modelPlanner: Planner = {
  async plan({ agent, messages, tools, turn, generate }) {
    // Once: what is said to such a run on its way changes nothing of it.
    if (agent.directCall) return turn === 1 ? [callStep(agent.directCall)] : [madeBefore(messages)]
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

/** Behind the tool that stands for all others: what is not pinned is called in the same way. */
const callStep = ({ tool: name, input }: DirectCall): PlanStep => ({
  type: 'tool',
  callId: 'direct',
  toolId: 'isola__call',
  input: { name, input },
})

function madeBefore(messages: readonly Message[]): PlanStep {
  const made = messages.findLast(({ role }) => role === 'tool')
  if (made?.role !== 'tool') return { type: 'finish', message: '' }
  const { callId: call, output, isError } = made
  const outcome = isError
    ? { ok: false, call, ...Object(output).error }
    : { ok: true, call, output }
  return { type: 'finish', message: callWasMade, output: outcome }
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

/** The default reflector: a `finish` step meets the goal, and so does a direct call that has its outcome. */
export const finishReflector: Reflector = {
  async reflect({ agent, actions, steps }) {
    const [action] = actions
    if (agent.directCall && action) return outcomeOf(action)
    const finish = steps.find((step) => step.type === 'finish')
    if (!finish) return { decision: 'continue' }
    return {
      decision: 'finish',
      result: finish.message,
      ...(finish.output && { output: finish.output }),
    }
  },
}

const callWasMade = 'The call was made.'

function outcomeOf({ callId, result }: ActionResult): Reflection {
  const { error } = result.ok ? {} : result
  const text = error ? `${error.code}: ${error.message}` : callWasMade
  return { decision: 'finish', result: text, output: toDirectOutcome(callId, result) }
}
