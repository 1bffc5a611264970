import type { AgentResult } from './agent.ts'
import type { ToolResult } from './tool.ts'

/**
 * What a run is to whoever called for it: a tool's result, like any other (N1). An agent that did not complete keeps
 * what it has done: the caller reads it with the reason.
 */
export function toToolResult(result: AgentResult): ToolResult {
  const { success, usage } = result
  if (!success) {
    return { ok: false, error: { code: 'tool_failed', message: describeEnd(result) }, usage }
  }
  const output = result.output ?? result.result
  return { ok: true, output, taint: [`tool:${result.agent}__run`], usage }
}

function describeEnd({ agent, state, error, result }: AgentResult): string {
  const reason = error ? ` (${error.code}: ${error.message})` : ''
  const done = result.trim() === '' ? '' : ` What it had until then:\n${result}`
  return `The agent ${agent} ended as ${state}${reason}.${done}`
}
