// Stands in for src/compose/composition.ts in test builds: the same parts with faster recovery and session ids that the
// harness chose, so that it can arm a session's failpoints before the session is there.
import { AsyncLocalStorage } from 'node:async_hooks'
import { env as bindings } from 'cloudflare:workers'
import { composeRuntime as compose, type Runtime } from '../../../src/compose/composition.ts'
import { defaultTiming } from '../../../src/runtime/session/types/runtime.ts'
import { createSessionGateway } from '../../../src/runtime/session/gateway.ts'
import { systemSources } from '../../../src/compose/sources.ts'

const { FAULTS_RECOVER_EVERY_MS: recoverEveryMs } = bindings as unknown as Record<string, unknown>
const pauseMs = 15_000
const keepStatelessMs = 1_500
const vanishAgainMs = 2_000
/** The day's ledger asks its sessions, which wakes them: late enough that a missing recovery shows first. */
const sweepEveryMs = 40_000

const wanted = new AsyncLocalStorage<string | undefined>()

export const withWantedSession = <T>(session: string | undefined, work: () => T): T =>
  wanted.run(session, work)

const sources = {
  ...systemSources,
  ids: {
    ...systemSources.ids,
    next: (prefix: Parameters<typeof systemSources.ids.next>[0]) =>
      (prefix === 'ses' && wanted.getStore()) || systemSources.ids.next(prefix),
  },
}

export const composeRuntime = (env: Env): Runtime =>
  compose(env, sources, {
    ...defaultTiming,
    recoverEveryMs: Number(recoverEveryMs),
    pauseMs,
    keepStatelessMs,
    vanishAgainMs,
    sweepEveryMs,
  })

/** A session's object. The gateway alone knows its name, and says it when it is asked for that session. */
export function sessionObject(
  session: string,
): DurableObjectStub & { spentBy: (run: string) => Promise<unknown> } {
  const { SESSION } = bindings as unknown as { SESSION: DurableObjectNamespace }
  const names: string[] = []
  const namespace = { getByName: (name: string) => names.push(name) }
  createSessionGateway({ namespace, sha256: sources.sha256 }).at(session)
  return SESSION.getByName(names[0]!) as ReturnType<typeof sessionObject>
}
