import type { Planner, PlannerState } from '#runtime/kernel/types/plan.ts'
import type { SubAgentStopped, ToolHooks } from '#runtime/kernel/types/policy.ts'
import type { EndedSession } from '#runtime/session/types/session-view.ts'
import { defaultHookTimeoutMs } from '../sandbox/call-limits.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { createSummaryHooks, withModelHooks } from './model-hooks.ts'
import { createSessionEnded, type SessionHooksDeps } from './session-hooks.ts'
import { createSubAgentStopped } from './sub-agent-hooks.ts'
import { createToolHooks, type ToolHooksDeps } from './tool-hooks.ts'

/** Dependencies of the hooks. */
export interface HooksDeps extends Omit<ToolHooksDeps & SessionHooksDeps, 'hookTimeoutMs'> {
  readonly hookTimeoutMs?: number
}

/** The hooks of a set of plugins, by the part of a session that asks them. */
export interface Hooks {
  readonly tools: ToolHooks
  /** Wraps a planner with the hooks of a session's start, a user's task and each model call. */
  readonly around: (planner: Planner) => Planner
  /** Wraps a model call that summarizes a conversation with the hooks of a model call. */
  readonly aroundSummary: (state: PlannerState) => PlannerState['generate']
  readonly subAgentStopped: SubAgentStopped | undefined
  readonly sessionEnded: ((ended: EndedSession) => Promise<void>) | undefined
}

/** The hooks of one set of plugins, in dependency order. A point without listeners costs nothing and awaits nothing. */
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
