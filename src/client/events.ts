import { defined } from '#contracts/defined.ts'
import type { StreamItem } from '#contracts/event.ts'
import { ApiError, mayPass, noReply, toSaid } from './api-error.ts'
import { chunksOf, readBlocks } from './event-blocks.ts'
import type { Open } from './routes.ts'

/** Where a reader is: the last event that it has seen. 0 is before the first. */
export interface EventCursor {
  seq: number
}

export interface EventsOptions {
  /** The events of one run; absent: of the whole session. */
  readonly run?: string
  /** `false`: the stored events, and no more. */
  readonly follow?: boolean
  /** Where to go on; moved along, so that the same one goes on later. Begins with the first event unless given. */
  readonly cursor?: EventCursor
  /** Ends the stream: the reader gets the reason of the signal as an error. */
  readonly signal?: AbortSignal
  /** Told why a connection ended, before each new attempt. */
  readonly onBroken?: (error: unknown) => void
  /** How it waits between attempts. */
  readonly sleep?: (ms: number) => Promise<void>
}

/** After one of these a run is over or waits for an answer: its stream may end. */
const resting: ReadonlySet<string> = new Set(['run_finished', 'run_parked'])
/** After one of these it may wait on. */
const maybeResting: ReadonlySet<string> = new Set(['run_steered', 'pause_answered'])
/** So often in a row a server may end a stream without a word while a run is at work; then that is believed. */
const maxQuietEnds = 4
const firstWaitMs = 250
const maxWaitMs = 5_000
/** The server says something every 2.5 seconds; this long a silence is a dead connection. */
const silenceMs = 20_000
const maxTries = 20

const wait = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))

/** Waits, unless the signal ends it: then it throws the reason of that. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return work
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

interface Connection extends EventsOptions {
  readonly cursor: EventCursor
  readonly follow: boolean
  /** Runs that were seen at work, with what they did last. */
  readonly atWork: Map<string, string>
}

/** One connection's items. Returns true if the stream ended where it may end. */
async function* readOnce(
  open: Open,
  session: string,
  { cursor, run, follow, signal, atWork }: Connection,
): AsyncGenerator<StreamItem, boolean> {
  const silent = new AbortController()
  const reply = await open('GET /api/sessions/:id/events', {
    params: { id: session },
    query: { ...defined({ run }), ...(!follow && { follow: 'false' }) },
    ...(cursor.seq > 0 && { headers: { 'last-event-id': String(cursor.seq) } }),
    timeoutMs: silenceMs,
    signal: AbortSignal.any([silent.signal, ...(signal ? [signal] : [])]),
  })
  const onSilence = () =>
    silent.abort(noReply('no_answer_in_time', `Nothing came for ${silenceMs} ms.`))
  for await (const { event, data } of readBlocks(chunksOf(reply, { silenceMs, onSilence }))) {
    if (event === 'error') throw brokenOff(data)
    // The server's own events by this name: its types are ours.
    const item = JSON.parse(data) as StreamItem
    if ('seq' in item) {
      if (item.seq <= cursor.seq) continue
      cursor.seq = item.seq
      if (resting.has(item.type)) atWork.delete(item.run)
      else atWork.set(item.run, item.type)
    }
    yield item
  }
  return !follow || atWork.size === 0
}

/** The stream's own error, which is no refusal: another connection may go on. */
const brokenOff = (text: string) =>
  new ApiError(0, { message: 'The stream broke off.', ...toSaid(text) })

/** A session's events over connections that may break: see `Client.events`. */
export async function* followEvents(
  open: Open,
  session: string,
  { cursor = { seq: 0 }, follow = true, sleep = wait, ...options }: EventsOptions,
): AsyncGenerator<StreamItem> {
  const { signal, onBroken } = options
  const atWork = new Map<string, string>()
  let quietEnds = 0
  for (let tries = 0; ;) {
    const from = cursor.seq
    let fault: ApiError | undefined
    try {
      if (yield* readOnce(open, session, { ...options, cursor, follow, atWork })) return
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof ApiError) || !mayPass(error)) throw error
      fault = error
    }
    const isNew = cursor.seq > from
    if (isNew) quietEnds = 0
    else if (fault === undefined) {
      // The server ended a quiet stream: the run waits, and the caller looks at it. Or the server lost the stream.
      quietEnds += 1
      const isWaiting = [...atWork.values()].every((last) => maybeResting.has(last))
      if (isWaiting || quietEnds === maxQuietEnds) return
    }
    tries = isNew ? 1 : tries + 1
    if (tries > maxTries) throw fault ?? noReply('answer_broken', 'The stream keeps ending.')
    if (fault !== undefined) onBroken?.(fault)
    await unlessAborted(sleep(Math.min(maxWaitMs, firstWaitMs * 2 ** (tries - 1))), signal)
  }
}
