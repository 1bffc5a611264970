import type { SubAgentStopped } from '#runtime/kernel/types/policy.ts'
import type { HookEvent } from '#contracts/plugin.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { askPoint, type Asked, type AskPointDeps } from './ask-point.ts'
import { toHookContext } from './hook-context.ts'
import { listenersAt } from './listeners.ts'

const on = 'subAgentStop'

/** Informs the listening plugins of a sub-agent's result; their answers change nothing. */
export function createSubAgentStopped(
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
