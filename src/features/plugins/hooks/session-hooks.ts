import type { DeploymentEvent, EventDraft } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { HookEvent } from '#contracts/plugin.ts'
import type { EndedSession } from '#runtime/session/types/session-view.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { askPoint, type Asked, type AskPointDeps, listenersAt } from './ask-point.ts'
import { toHookContext } from './hook-context.ts'

const on = 'sessionEnd'

/** Further dependencies of the session hooks. */
export interface SessionHooksDeps extends AskPointDeps {
  readonly traceId: () => string
  /** Records that a hook was called: the session's own log has ended. Never rejects. */
  readonly record: (event: DeploymentEvent) => Promise<void>
}

/** Informs the listening plugins of a session's end; they cannot prevent it. */
export function createSessionEnded(
  plugins: readonly LoadedPlugin[],
  deps: SessionHooksDeps,
): ((ended: EndedSession) => Promise<void>) | undefined {
  const listeners = listenersAt(plugins, on)
  if (listeners.length === 0) return undefined
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
    const event: HookEvent = { on, session, run: '', agent, principal }
    const asked: Asked = { event, name: agent, context, changed: (told) => told }
    await askPoint({ on, asked: [asked], listeners }, deps)
    const atMs = deps.clock.nowMs()
    for (const { type, data } of events) {
      const event = type === 'hook_called' ? {} : { event: type }
      // The other fields are JSON, as in every event.
      const about = { ...(data as JsonObject), session, ...event }
      await deps.record({ type: 'hook_called', principal, trace, atMs, data: about })
    }
  }
}
