import type * as z from 'zod'
import { unwrap } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Sources } from '#contracts/sources.ts'
import { toEventStream } from '#platform/routes/event-stream.ts'
import { eventStreamResponse } from '#platform/routes/responses.ts'
import type { OnFault, RequestContext } from '#platform/routes/request.ts'
import { createEventView, toEventsQuery } from './event-view.ts'
import { inSession } from '#runtime/session/requests/open-session.ts'
import type { eventsQuery } from '#runtime/session/requests/session-requests.ts'

export interface EventsDeps {
  readonly sessions: SessionGateway
  readonly sources: Sources
  /** Gets what a caller never sees. */
  readonly onFault?: OnFault
}

/** A reader may vanish and come back with its cursor: the run goes on, nothing is cancelled. */
export async function followEvents(
  deps: EventsDeps,
  context: RequestContext,
  asked: z.output<typeof eventsQuery>,
): Promise<Response> {
  const query = toEventsQuery(asked, context.raw.headers.get('last-event-id'))
  const source = await inSession(deps, context, async ({ session, principal }) =>
    unwrap(await session.events(principal, query)),
  )
  if (context.raw.method === 'HEAD') {
    await source.cancel()
    return eventStreamResponse(null)
  }
  const requestId = context.requestId
  const view = createEventView({
    ...query,
    requestId,
    onFault: (error) => deps.onFault?.(error, requestId),
  })
  const { signal } = context.raw
  return eventStreamResponse(toEventStream(source, view, { clock: deps.sources.clock, signal }))
}
