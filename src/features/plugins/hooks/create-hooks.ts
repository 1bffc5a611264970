import type { SubAgentStopped, ToolHooks } from '#runtime/kernel/types/policy.ts'
import type { HookEvent } from '#contracts/plugin.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { askPoint, type Asked, type AskPointDeps, listenersAt } from './ask-point.ts'
import { toHookContext } from './hook-context.ts'
import type { Planner, PlannerState } from '#runtime/kernel/types/plan.ts'
import type { EndedSession } from '#runtime/session/types/session-view.ts'
import { defaultHookTimeoutMs } from '../types/plugin-output.ts'
import { createSummaryHooks, withModelHooks } from './model-hooks.ts'
import { createSessionEnded, type SessionHooksDeps } from './session-hooks.ts'
import { createToolHooks, type ToolHooksDeps } from './tool-hooks.ts'

const on = 'subAgentStop'

/** Informs the listening plugins of a sub-agent's result; their answers change nothing. */
function createSubAgentStopped(
  plugins: readonly LoadedPlugin[],
  deps: AskPointDeps,
): SubAgentStopped | undefined {
  const listeners = listenersAt(plugins, on)
  if (listeners.length === 0) return undefined
  return async ({ agent, child, state, error, text }, context) => {
    const { session, run, principal } = context
    const result = { session: child, state, ...(error && { error: { ...error } }) }
    const event: HookEvent = { on, session, run, agent, principal, result, text }
    const changed: Asked['changed'] = (told) => told
    const asked = { event, name: agent, context: toHookContext(context), changed }
    await askPoint({ on, asked: [asked], listeners }, deps)
  }
}

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
