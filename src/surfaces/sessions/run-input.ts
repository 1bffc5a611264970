import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpDeps } from '#platform/routes/deps.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { changeRunLimits, decideCall } from '#runtime/session/requests/for-others.ts'
import { inSession, openOwn, runOf } from '#runtime/session/requests/open-session.ts'
import {
  parseDecisionRequest,
  parseLimitsRequest,
  parseMessageRequest,
} from './run-input-requests.ts'

/** What somebody outside says to a run that is not over: another message, other limits, or what becomes of a call that waits. */
export function addRunInputRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/sessions/:id/runs/:run/messages', {
    POST: async (context) => {
      const run = runOf(context)
      const own = openOwn(deps, context)
      const key = readIdempotencyKey(context.req.raw.headers)
      const text = parseMessageRequest(await readJsonObject(context.req.raw))
      const receipt = await deps.entry.input.steer(own, { session: own.id, run }, { text, key })
      return jsonResponse(receipt, { status: 202 })
    },
  })
  addRoute('/api/sessions/:id/runs/:run/limits', {
    POST: async (context) => {
      const run = runOf(context)
      const limits = parseLimitsRequest(await readJsonObject(context.req.raw))
      const view = await inSession(deps, context, (opened) =>
        changeRunLimits(deps, context, { opened, run, limits }),
      )
      return jsonResponse(view)
    },
  })
  addRoute('/api/sessions/:id/runs/:run/decisions', {
    POST: async (context) => {
      const run = runOf(context)
      const request = parseDecisionRequest(await readJsonObject(context.req.raw))
      const view = await inSession(deps, context, (opened) =>
        decideCall(deps, context, { opened, run, ...request }),
      )
      return jsonResponse(view)
    },
  })
}
