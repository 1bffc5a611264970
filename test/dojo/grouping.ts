import type { RecordedCall } from './suite.ts'
import { factsOf, isEffect } from './tool-table.ts'

type CallTurns = readonly (readonly RecordedCall[])[]

/** One call a turn; calls of one tool with an effect that need nothing of each other go side by side in one turn. */
export function inTurns(calls: readonly RecordedCall[]): CallTurns {
  const turns: RecordedCall[][] = []
  for (const call of calls) {
    const last = turns.at(-1)
    if (last?.[0]?.tool === call.tool && isEffect(call.tool)) last.push(call)
    else turns.push([call])
  }
  return turns
}

/** By tool: the tool whose result its calls need. */
const needs: Readonly<Record<string, string>> = { share_file: 'create_file' }

/**
 * The same calls where a model gathers first: once it has read what a stranger can have written, whatever does something waits
 * until everything is read, and is asked about in one turn, in its order. What needs the result of another waits for that.
 */
export function together(calls: readonly RecordedCall[]): CallTurns {
  const [before, waiting]: [RecordedCall[], RecordedCall[]] = [[], []]
  let hasRead = false
  for (const call of calls) {
    const waits = hasRead && isEffect(call.tool) && !isFetch(call)
    ;(waits ? waiting : before).push(call)
    hasRead ||= factsOf(call.tool).integrity === 'stranger'
  }
  const isLater = ({ tool }: RecordedCall) => waiting.some((one) => one.tool === needs[tool])
  return [
    ...inTurns(before),
    waiting.filter((call) => !isLater(call)),
    waiting.filter(isLater),
  ].filter(({ length }) => length > 0)
}

/** It goes outside, and what comes back is what it is for. */
const isFetch = ({ tool }: RecordedCall): boolean =>
  factsOf(tool).sinks.every((sink) => sink === 'egress') && isEffect(tool)
