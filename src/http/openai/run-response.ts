import type { StreamItem } from '#contracts/event.ts'
import type { SubmitReceipt, SubmitRequest } from '#contracts/submission.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { type StreamView, toEventStream } from '../event-stream.ts'
import { eventStreamResponse, replayed, unwrap } from '../responses.ts'
import { type Change, createFold, type TokenCount } from './fold.ts'
import { carryOut, type Plan } from './plan.ts'
import type { PlaceInSession, RunPlace } from './wire-ids.ts'

/** A response that was read whole. */
export interface ReadResponse {
  readonly changes: readonly Change[]
  readonly tokens: TokenCount
}

/** All that a run has told by now. */
export async function readLog(
  deps: HttpDeps,
  principal: string,
  { session, run }: RunPlace,
): Promise<readonly StreamItem[]> {
  const options = { afterSeq: 0, run, follow: false }
  const stream = unwrap(await deps.sessions.at(session).events(principal, options))
  const lines = (await new Response(stream).text()).split('\n')
  // Written by our own session object.
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as StreamItem]))
}

/** What one response holds, out of its run's log. */
export function foldResponse(log: readonly StreamItem[], place: PlaceInSession): ReadResponse {
  const fold = createFold(place)
  const changes = log.flatMap(fold.apply)
  return { changes, tokens: fold.tokens() }
}

/** A submission whose run is read as it goes. */
export interface StreamedRun {
  readonly plan: Plan
  readonly submissionOf: (plan: Plan) => SubmitRequest
  /** It goes on whoever leaves. */
  readonly isBackground?: boolean
  readonly viewOf: (place: PlaceInSession, receipt: SubmitReceipt) => StreamView
}

/**
 * Submits, and shows the response as it comes. A client that closes the stream says Stop (docs/design.md section 4).
 */
export async function streamRun(
  deps: HttpDeps,
  context: HttpContext,
  { plan: first, submissionOf, viewOf, isBackground }: StreamedRun,
): Promise<Response> {
  const { plan, value } = await carryOut(first, (next) =>
    deps.sessions.at(next.session).runStream(next.session, submissionOf(next)),
  )
  const { receipt, reader, stream } = value
  const { session, turn } = plan
  const { run, isJoined } = receipt
  const submission = submissionOf(plan)
  const kept = Promise.withResolvers<void>()
  keepAlive(context, kept.promise)
  const onEnd = (end: 'complete' | 'gone') => {
    if (end === 'complete' || isBackground) return kept.resolve()
    kept.resolve(deps.onClientGone?.({ session, run, reader, principal: submission.principal }))
  }
  const { signal } = context.req.raw
  const view = viewOf({ session, run, turn }, receipt)
  const body = toEventStream(stream, view, { clock: deps.sources.clock, signal, onEnd })
  // A run that was there has the trace of the request that began it, which is not this one's.
  const isNew = !isJoined && submission.answers === undefined
  const about = { session, run, ...(isNew && { trace: submission.trace }) }
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

/** Without this what follows a closed connection would be dropped with it. In tests there is no such context. */
function keepAlive(context: HttpContext, promise: Promise<void>): void {
  let execution: HttpContext['executionCtx'] | undefined
  try {
    execution = context.executionCtx
  } catch {
    return
  }
  execution.waitUntil(promise)
}
