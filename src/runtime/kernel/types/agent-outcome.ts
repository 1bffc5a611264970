import type { AgentResult, RunError } from '#contracts/agent.ts'
import { labelFrom } from '#contracts/label.ts'
import { errorCode, type LeaseErrorCode } from '#contracts/errors.ts'
import type { ToolResult } from '#contracts/tool.ts'

/**
 * The result of a run as its caller reads it: a tool result like any other (N1). An agent that did not complete keeps
 * its partial result: the caller reads it with the reason.
 */
export function toToolResult(result: AgentResult): ToolResult {
  const { success, usage, state, error } = result
  const name = `${result.agent}__run` as const
  const { label = labelFrom(name) } = result
  if (!success) {
    // The caller can give the missing amount: the code says which limit, the message how much.
    const code = (state === 'stopped' && leaseCodeOf(error)) || 'tool_failed'
    return { ok: false, error: { code, message: describeEnd(result) }, label, usage }
  }
  const output = result.output ?? result.result
  return { ok: true, output, taint: [`tool:${name}`], label, usage }
}

function leaseCodeOf(error: RunError | undefined): LeaseErrorCode | undefined {
  const code = errorCode(error)
  return code?.startsWith('lease_') ? (code as LeaseErrorCode) : undefined // by its prefix
}

function describeEnd({ agent, state, error, result }: AgentResult): string {
  const reason = error ? ` (${error.code}: ${error.message})` : ''
  const done = result.trim() === '' ? '' : ` What it had until then:\n${result}`
  return `The agent ${agent} ended as ${state}${reason}.${done}`
}
