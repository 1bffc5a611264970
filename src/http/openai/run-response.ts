import type { StreamItem } from '#contracts/event.ts'
import type { SubmitReceipt } from '#contracts/submission.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { type StreamView, toEventStream } from '../event-stream.ts'
import { keepAlive } from '../keep-alive.ts'
import { eventStreamResponse, replayed } from '../responses.ts'
import { type Change, createFold, type TokenCount } from './fold.ts'
import type { PlaceInSession } from './wire-ids.ts'
import type { Work } from './work.ts'

/** A response that was read whole. */
export interface ReadResponse {
  readonly changes: readonly Change[]
  readonly tokens: TokenCount
}

/** What one response holds, out of its run's log. */
export function foldResponse(log: readonly StreamItem[], place: PlaceInSession): ReadResponse {
  const fold = createFold(place)
  const changes = log.flatMap(fold.apply)
  return { changes, tokens: fold.tokens() }
}

/** A submission whose run is read as it goes. */
export interface StreamedRun {
  readonly work: Work
  readonly viewOf: (place: PlaceInSession, receipt: SubmitReceipt) => StreamView
}

/**
 * Submits, and shows the response as it comes. A client that closes the stream says Stop (docs/design.md section 4).
 */
export async function streamRun(
  deps: HttpDeps,
  context: HttpContext,
  { work, viewOf }: StreamedRun,
): Promise<Response> {
  const { plan, value } = await work.runStream()
  const { receipt, reader, stream } = value
  const { session, turn, request } = plan
  const { principal, trace, isBackground } = work
  const { run, isJoined } = receipt
  const kept = Promise.withResolvers<void>()
  keepAlive(context, kept.promise)
  const onEnd = (end: 'complete' | 'gone') => {
    // In the background it goes on whoever leaves.
    if (end === 'complete' || isBackground) return kept.resolve()
    kept.resolve(deps.onClientGone?.({ session, run, reader, principal }))
  }
  const { signal } = context.req.raw
  const view = viewOf({ session, run, turn }, receipt)
  const body = toEventStream(stream, view, { clock: deps.sources.clock, signal, onEnd })
  // A run that was there has the trace of the request that began it, which is not this one's.
  const isNew = !isJoined && request.answers === undefined
  const about = { session, run, ...(isNew && { trace }) }
  return eventStreamResponse(body, { ...headersFor(about), ...replayed(isJoined) })
}

/** The headers by which a client finds session, run and trace again. */
export function headersFor(about: {
  readonly session: string
  readonly run: string
  readonly trace?: string
}): Readonly<Record<string, string>> {
  return {
    'x-isola-session': about.session,
    'x-isola-run': about.run,
    ...(about.trace !== undefined && { 'x-isola-trace': about.trace }),
  }
}
