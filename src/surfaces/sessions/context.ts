import type * as z from 'zod'
import { compactRequest } from '#runtime/session/types/sessions-requests.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { CompactionOutcome } from '#runtime/session/types/compaction-outcome.ts'
import { unwrap } from '#contracts/reply.ts'
import type { Ask } from '#runtime/session/types/submit-as.ts'
import { notingBegun } from '#runtime/session/requests/begun.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { readTrace } from '#platform/routes/headers.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { checkModel } from '#platform/routes/targets.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { record } from '#runtime/session/requests/for-others.ts'
import { toLimits } from '#platform/routes/limits.ts'
import { inSession, type OpenSession } from '#runtime/session/requests/open-session.ts'

/** What a model would be sent next in a session, and to make it less at rest: its owner, or an operator. */
export function addContextRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/sessions/:id/context', {
    GET: async (context) => {
      const view = await inSession(deps, context, async ({ id, session, principal }) => ({
        session: id,
        ...unwrap(await session.context(principal)),
      }))
      return jsonResponse(view)
    },
  })
  addRoute('/api/sessions/:id/compact', {
    POST: async (context) => {
      const request = parseFields(
        compactRequest,
        await readJsonObject(context.req.raw, { whenEmpty: {} }),
      )
      const options = toOptions(deps, context, request)
      return inSession(deps, context, (opened) => compact(deps, context, { opened, options }))
    },
  })
}

type Options = Pick<Ask, 'model' | 'limits' | 'trace' | 'traceLink'>

function toOptions(
  deps: HttpDeps,
  context: HttpContext,
  { model, limits: asked }: z.infer<typeof compactRequest>,
): Options {
  const limits = toLimits(asked)
  return {
    ...(model !== undefined && { model: checkModel(deps, context.get('principal'), model) }),
    ...(limits && { limits }),
    ...readTrace(context, deps.sources),
  }
}

async function compact(
  deps: HttpDeps,
  context: HttpContext,
  { opened, options }: { readonly opened: OpenSession; readonly options: Options },
): Promise<Response> {
  const { id: session, principal, by } = opened
  const work = notingBegun(
    context,
    deps.entry.submitAs(
      // A compaction that an operator asks for is paid by the day of the session's owner, not by the operator's key.
      by === undefined ? context.get('principal') : { id: principal },
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
