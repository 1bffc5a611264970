import { defined } from '#contracts/defined.ts'
import type { StreamItem } from '#contracts/event.ts'
import type { Clock } from '#contracts/sources.ts'
import type { SubmitReceipt } from '#runtime/session/types/submission.ts'
import type { OpenaiDeps, Work } from './work.ts'
import {
  type OpenedStream,
  openStream,
  showStream,
  type StreamView,
} from '#platform/routes/event-stream.ts'
import { eventStreamResponse, replayed } from '#platform/routes/answer.ts'
import { type Change, createFold, type TokenCount } from './fold.ts'
import type { PlaceInSession } from './wire-ids.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** A response that was read whole. */
export interface ReadResponse {
  readonly changes: readonly Change[]
  readonly tokens: TokenCount
  readonly insteadOf: ReturnType<typeof createFold>['insteadOf']
}

/** One response, read out of its run's log. */
export function foldResponse(log: readonly StreamItem[], place: PlaceInSession): ReadResponse {
  const fold = createFold(place)
  const changes = log.flatMap(fold.apply)
  return { changes, tokens: fold.tokens(), insteadOf: fold.insteadOf }
}

/** A submission whose run is read as it goes. */
export interface StreamedRun {
  readonly work: Work
  readonly viewOf: (place: PlaceInSession, receipt: SubmitReceipt) => StreamView
}

/** So long a stream waits for its first piece: a run that fails before that is answered with a status of its own. */
const maxStatusWaitMs = 10_000

/**
 * Submits, and shows the response as it comes. A client that closes the stream says Stop (docs/design.md section 4).
 * The status line waits for the first piece, or ten seconds; in the background for nothing.
 */
export async function streamRun(
  deps: OpenaiDeps,
  context: RequestContext,
  { work, viewOf }: StreamedRun,
): Promise<Response> {
  const { plan, value } = await work.runStream()
  const { receipt, reader, stream } = value
  const { session, turn, request } = plan
  const { principal, trace, isBackground } = work
  const { run, isJoined } = receipt
  const kept = Promise.withResolvers<void>()
  context.keepAlive(kept.promise)
  const onEnd = (end: 'complete' | 'gone') => {
    // A background run goes on after its client left.
    if (end === 'complete' || isBackground) return kept.resolve()
    kept.resolve(deps.onClientGone?.({ session, run, reader, principal }))
  }
  const { signal } = context.raw
  const { clock } = deps.sources
  const opened = openStream(stream, viewOf({ session, run, turn }, receipt))
  // A run that was there has the trace of the request that began it, which is not this one's.
  const isNew = !isJoined && request.answers === undefined
  const about = { session, run, ...(isNew && { trace }) }
  const headers = { ...headersFor(about), ...replayed(isJoined) }
  const fault = isBackground ? undefined : await faultBefore(opened, { clock, signal })
  if (!fault) return eventStreamResponse(showStream(opened, { clock, signal, onEnd }), headers)
  opened.cancel()
  onEnd('complete')
  return context.refuse(fault, { headers, run })
}

/** Why there is no answer, if that is known before its first piece, in time, and while the client waits. */
async function faultBefore(
  { first, view }: OpenedStream,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<unknown> {
  const isOver = new AbortController()
  const leave = () => isOver.abort('the client has gone')
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  const known = first.then(
    ({ isLast }) => (isLast ? view.fault?.() : undefined),
    (error: unknown) => error,
  )
  const late = clock.sleep(maxStatusWaitMs, isOver.signal)
  const fault = await Promise.race([known, late.then(() => undefined)])
  isOver.abort('the answer has a status')
  signal.removeEventListener('abort', leave)
  return fault
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
    ...defined({ 'x-isola-trace': about.trace }),
  }
}
