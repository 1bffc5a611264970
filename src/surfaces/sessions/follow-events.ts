import type * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { EventType, StreamItem } from '#contracts/event.ts'
import { noSuchSession, unwrap } from '#contracts/reply.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import { brokenOff, type StreamView, toEventStream } from '#platform/routes/event-stream.ts'
import { isRunId } from '#platform/routes/headers.ts'
import type { eventsQuery } from '#runtime/session/requests/session-requests.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Sources } from '#contracts/sources.ts'
import { eventStreamResponse } from '#platform/routes/answer.ts'
import type { OnFault, RequestContext } from '#platform/routes/request.ts'
import { inSession } from '#runtime/session/requests/open-session.ts'

/** From where on events are read, of which run, and whether those that come are waited for. */
interface EventsQuery {
  readonly afterSeq: number
  readonly run?: string
  readonly follow: boolean
  /** The run that the given cursor names, and the field that gave the cursor. Absent if the cursor is a bare seq. */
  readonly cursor?: { readonly run: string; readonly param: string }
}

/** `Last-Event-ID` wins over `?cursor=`: a reader that reconnects sends its first URL again. */
function toEventsQuery(
  { run, follow, cursor }: z.output<typeof eventsQuery>,
  lastEventId: string | null,
): EventsQuery {
  if (run !== undefined && !isRunId(run)) throw noSuchSession()
  return {
    ...(lastEventId === null || lastEventId === ''
      ? parseCursor(cursor ?? '0', 'cursor')
      : parseCursor(lastEventId, 'last-event-id')),
    ...defined({ run }),
    follow: follow !== 'false' && follow !== '0',
  }
}

/** `<run>:<seq>` or a bare seq. The seq counts per session: the run says whether it is of this one. */
function parseCursor(text: string, param: string): Pick<EventsQuery, 'afterSeq' | 'cursor'> {
  const match = /^(?:(run_[0-9A-Za-z]{22}):)?(\d{1,15})$/.exec(text)
  if (match) {
    const [, run, seq] = match
    return { afterSeq: Number(seq), ...(run !== undefined && { cursor: { run, param } }) }
  }
  const message = `${param}: must be <run>:<seq>, the id of an event, or a seq.`
  throw new IsolaError('request_invalid', message, { param })
}

/** After these a run is over, or may wait for an answer from outside: then its stream may end. */
const restingPoints: ReadonlySet<EventType> = new Set([
  'run_finished',
  'run_parked',
  'run_steered',
  'pause_answered',
])

/**
 * Every item unchanged: logged events carry their id, deltas have none. A stream that follows one run has an end of
 * its own, so that a client can tell a cut stream from a complete one.
 */
function createEventView(
  options: EventsQuery & {
    readonly requestId: string
    readonly onFault: (error: unknown) => void
  },
): StreamView {
  const { afterSeq, follow, run } = options
  let last: EventType | undefined

  const fail = (error: unknown): string => {
    options.onFault(error)
    const { body } = toOutgoingError(error, options.requestId)
    return `event: error\ndata: ${JSON.stringify(body)}\n\n`
  }
  const isCut = (): boolean => {
    if (run === undefined || !follow) return false
    // After a cursor nothing may be left to tell, since the run was over.
    return last === undefined ? afterSeq === 0 : !restingPoints.has(last)
  }

  return {
    // Opens the stream towards proxies and clients that wait for a first byte.
    opening: ': isola events\n\n',
    show: (item) => {
      if (item.type !== 'message_delta') last = item.type
      return toServerSentEvent(item)
    },
    isComplete: () => false,
    close: () => (isCut() ? fail(brokenOff()) : ''),
    fail,
  }
}

function toServerSentEvent(item: StreamItem): string {
  const id = item.type === 'message_delta' ? '' : `id: ${item.run}:${item.seq}\n`
  return `event: ${item.type}\n${id}data: ${JSON.stringify(item)}\n\n`
}

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
