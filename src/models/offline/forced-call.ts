import type { ToolChoice, ToolDefinition } from '#contracts/model.ts'
import { fillArguments } from './arguments.ts'
import { maskLiterals } from './literals.ts'
import type { ChooserFor, Plan, PlannedCall } from './plan.ts'
import type { RunSoFar } from './run-so-far.ts'
import { sampleOf } from './sample.ts'
import { isJsonObject } from './schema-shape.ts'

/**
 * The call that a caller insists on, unless it is planned anyway. Only here are arguments made up: whoever forces a call
 * gets one, and what the message does not say is a sample of the schema.
 */
export function forcedCall({
  run,
  tools,
  toolChoice,
  planned,
  chooserFor,
}: {
  readonly run: RunSoFar
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice: ToolChoice
  readonly planned: Plan
  readonly chooserFor: ChooserFor
}): PlannedCall | undefined {
  // It holds for the first call; insisted on for ever, it would be made for ever.
  if (toolChoice === 'auto' || toolChoice === 'none' || run.calls.length > 0) return undefined
  if (toolChoice === 'required') {
    const tool = chooserFor(tools).choose(run.task, [])[0] ?? tools[0]
    return planned.calls.length > 0 || !tool ? undefined : callOf(tool, run)
  }
  const tool = tools.find(({ name }) => name === toolChoice.tool)
  return tool && (planned.calls.find(({ name }) => name === tool.name) ?? callOf(tool, run))
}

function callOf(tool: ToolDefinition, { task }: RunSoFar): PlannedCall {
  const { text, literals } = maskLiterals(task)
  const blocks = literals.filter(({ kind }) => kind === 'block')
  const filled = fillArguments(tool, { text, literals, blocks, previous: undefined })
  const sample = filled.ok ? {} : sampleOf(tool.inputSchema, task)
  return {
    name: tool.name,
    input: { ...(isJsonObject(sample) && sample), ...filled.input },
  }
}
