import type { SessionApi } from '#contracts/session.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { isRunId, isSessionId } from '../headers.ts'
import { noSuchSession } from '../responses.ts'

export interface OpenSession {
  readonly id: string
  readonly session: SessionApi
  readonly principal: string
}

/** A malformed id looks like one that is absent, and reaches no object. */
export function openSession(deps: HttpDeps, context: HttpContext): OpenSession {
  const id = context.req.param('id') ?? ''
  if (!isSessionId(id)) throw noSuchSession()
  return { id, session: deps.sessions.at(id), principal: context.get('principal').id }
}

export function openRun(
  deps: HttpDeps,
  context: HttpContext,
): OpenSession & { readonly run: string } {
  const run = context.req.param('run') ?? ''
  if (!isRunId(run)) throw noSuchSession()
  return { ...openSession(deps, context), run }
}
