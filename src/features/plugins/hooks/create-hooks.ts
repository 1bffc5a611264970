import type { SubAgentStopped } from '#runtime/kernel/types/policy.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { toHookContext } from './hook-context.ts'
import { listenersAt, askOne, type HooksDeps } from './ask-point.ts'
import type { Planner } from '#runtime/kernel/types/plan.ts'
import type { EndedSession } from '#runtime/session/types/session-view.ts'
import { createSummaryHooks, withModelHooks } from './model-hooks.ts'
import { createToolHooks } from './tool-hooks.ts'
import type { EventDraft } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'

/** The hooks of a set of plugins, by the part of a session that asks them. */
export type Hooks = ReturnType<typeof createHooks>

/** The hooks of one set of plugins, in dependency order. A point without listeners costs nothing and awaits nothing. */
export function createHooks(plugins: readonly LoadedPlugin[], deps: HooksDeps) {
  return {
    tools: createToolHooks(plugins, deps),
    /** Wraps a planner with the hooks of a session's start, a user's task and each model call. */
    around: (planner: Planner) => withModelHooks(planner, plugins, deps),
    /** Wraps a model call that summarizes a conversation with the hooks of a model call. */
    aroundSummary: createSummaryHooks(plugins, deps),
    subAgentStopped: createSubAgentStopped(plugins, deps),
    sessionEnded: createSessionEnded(plugins, deps),
  }
}

/** Informs the listening plugins of a sub-agent's result; their answers change nothing. */
function createSubAgentStopped(
  plugins: readonly LoadedPlugin[],
  deps: HooksDeps,
): SubAgentStopped | undefined {
  if (listenersAt(plugins, 'subAgentStop').length === 0) return undefined
  return async ({ agent, child, state, error, text }, about) => {
    const { session, run, principal } = about
    const result = { session: child, state, ...(error && { error: { ...error } }) }
    const event = { session, run, agent, principal, result, text }
    await askOne('subAgentStop', { event, context: toHookContext(about) }, { plugins, deps })
  }
}

/** Informs the listening plugins of a session's end; they cannot prevent it. */
function createSessionEnded(
  plugins: readonly LoadedPlugin[],
  deps: HooksDeps,
): ((ended: EndedSession) => Promise<void>) | undefined {
  const on = 'sessionEnd'
  if (listenersAt(plugins, on).length === 0) return undefined
  return async ({ session, rootSession, shared, principal, agent }) => {
    const trace = deps.traceId()
    const events: EventDraft[] = []
    const context = toHookContext({
      call: on,
      run: '',
      session,
      rootSession,
      shared,
      principal,
      agent,
      trace,
      depth: 0,
      ancestry: [],
      signal: new AbortController().signal,
      emit: (event) => void events.push(event),
    })
    const event = { session, run: '', agent, principal }
    await askOne(on, { event, context }, { plugins, deps })
    const atMs = deps.clock.nowMs()
    for (const { type, data } of events) {
      const event = type === 'hook_called' ? {} : { event: type }
      // The other fields are JSON, as in every event.
      const about = { ...(data as JsonObject), session, ...event }
      await deps.record({ type: 'hook_called', principal, trace, atMs, data: about })
    }
  }
}
