import { defined } from '#contracts/defined.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ToolContext } from '#contracts/tool.ts'

const nothingToSpend: Limits = {
  ...defaultAgentLimits,
  maxTokens: 0,
  maxCostNanoUsd: 0,
  maxTurns: 0,
  maxToolCalls: 0,
  maxChildren: 0,
  maxDepth: 0,
}

/** The context of a hook: the context of its event, without a lease of its own. */
export const toHookContext = (
  about: Omit<ToolContext, 'idempotencyKey' | 'lease' | 'options'>,
): ToolContext => ({
  call: about.call,
  run: about.run,
  session: about.session,
  rootSession: about.rootSession,
  shared: about.shared,
  principal: about.principal,
  agent: about.agent,
  trace: about.trace,
  ...defined({ traceLink: about.traceLink }),
  depth: about.depth,
  ancestry: about.ancestry,
  signal: about.signal,
  emit: about.emit,
  label: about.label,
  idempotencyKey: `${about.run}:${about.call}`,
  lease: nothingToSpend,
  options: {},
})
