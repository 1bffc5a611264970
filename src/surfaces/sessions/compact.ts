import type * as z from 'zod'
import type { CompactionOutcome } from '#runtime/session/types/session-view.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { DeploymentLog } from '#contracts/event.ts'
import { unwrap } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SessionEntry, SessionTask } from '#runtime/session/types/session-entry.ts'
import type { Sources } from '#contracts/sources.ts'
import { notingBegun, inSession, type OpenSession } from '#runtime/session/requests/open-session.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { checkModel, type Targets } from '#platform/routes/targets.ts'
import { record } from '#runtime/session/requests/for-others.ts'
import { toLimits } from '#platform/routes/limits.ts'
import type { compactRequest } from '#runtime/session/requests/session-requests.ts'

export interface CompactDeps {
  readonly sessions: SessionGateway
  readonly entry: Pick<SessionEntry, 'submitAs'>
  readonly models: Targets['models']
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
}

/** Compacts a session at rest: its owner, or an operator. */
export function compactSession(
  deps: CompactDeps,
  context: RequestContext,
  request: z.output<typeof compactRequest>,
): Promise<Response> {
  const options = toOptions(deps, context, request)
  return inSession(deps, context, (opened) => compact(deps, context, { opened, options }))
}

type Options = Pick<SessionTask, 'model' | 'limits' | 'trace' | 'traceLink'>

function toOptions(
  deps: CompactDeps,
  context: RequestContext,
  { model, limits: asked }: z.infer<typeof compactRequest>,
): Options {
  const limits = toLimits(asked)
  return {
    ...(model !== undefined && { model: checkModel(deps, context.caller, model) }),
    ...(limits && { limits }),
    ...context.trace(),
  }
}

async function compact(
  deps: CompactDeps,
  context: RequestContext,
  { opened, options }: { readonly opened: OpenSession; readonly options: Options },
): Promise<Response> {
  const { id: session, principal, by } = opened
  const work = notingBegun(
    context,
    deps.entry.submitAs(
      // A compaction that an operator asks for is paid by the day of the session's owner, not by the operator's key.
      by === undefined ? context.caller : { id: principal },
      { session, ...options, messages: [], mustExist: true, compact: 'session' },
      { origin: 'api' },
    ),
  )
  const outcome = unwrap(await work.compact())
  const { id: run, state } = outcome.result
  const headers = { location: `/api/sessions/${session}/runs/${run}` }
  if (by !== undefined)
    await record(deps, context, { type: 'session_compacted', opened, about: { run } })
  return jsonResponse({ session, run, state, compaction: reportOf(outcome) }, { headers })
}

/** Throws why there is none: the run came to nothing. */
function reportOf({ result, report }: CompactionOutcome): NonNullable<CompactionOutcome['report']> {
  if (report) return report
  const { code, message } = result.error ?? {}
  const why = message ?? 'There is nothing to compact.'
  if (result.state === 'cancelled')
    throw new IsolaError('request_conflict', `The compaction was cancelled: ${why}`)
  throw code === undefined
    ? new IsolaError('request_conflict', why)
    : Object.assign(new Error(why), { code })
}
