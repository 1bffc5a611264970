import type { Planner, PlannerState } from '#runtime/kernel/types/plan.ts'
import type { SubAgentStopped, ToolHooks } from '#runtime/kernel/types/policy.ts'
import type { EndedSession } from '#runtime/session/types/session-view.ts'
import { defaultHookTimeoutMs } from '../sandbox/call-limits.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { createSummaryHooks, withModelHooks } from './model-hooks.ts'
import { createSessionEnded, type SessionHooksDeps } from './session-hooks.ts'
import { createSubAgentStopped } from './sub-agent-hooks.ts'
import { createToolHooks, type ToolHooksDeps } from './tool-hooks.ts'

/** What the hooks of a set of plugins are made of. */
export interface HooksDeps extends Omit<ToolHooksDeps & SessionHooksDeps, 'hookTimeoutMs'> {
  readonly hookTimeoutMs?: number
}

/** What a set of plugins listens to, as the parts of a session that ask it. */
export interface Hooks {
  readonly tools: ToolHooks
  /** The planner with the points of a session's start, of a person's task and of each model call around it. */
  readonly around: (planner: Planner) => Planner
  /** A turn's way to a model with the points of a model call around it, for a summary of what was said. */
  readonly aroundSummary: (state: PlannerState) => PlannerState['generate']
  readonly subAgentStopped: SubAgentStopped | undefined
  readonly sessionEnded: ((ended: EndedSession) => Promise<void>) | undefined
}

/** The hooks of one set of plugins, in dependency order; where nobody listens nothing is done and nothing waits. */
export function createHooks(
  plugins: readonly LoadedPlugin[],
  { hookTimeoutMs = defaultHookTimeoutMs, ...rest }: HooksDeps,
): Hooks {
  const deps = { ...rest, hookTimeoutMs }
  return {
    tools: createToolHooks(plugins, deps),
    around: (planner) => withModelHooks(planner, plugins, deps),
    aroundSummary: createSummaryHooks(plugins, deps),
    subAgentStopped: createSubAgentStopped(plugins, deps),
    sessionEnded: createSessionEnded(plugins, deps),
  }
}
