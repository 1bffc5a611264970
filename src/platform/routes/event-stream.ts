import { IsolaError } from '#contracts/errors.ts'
import type { StreamItem } from '#contracts/event.ts'
import type { Clock } from '#contracts/sources.ts'

/** How a surface shows a session's items as server-sent events. `''` shows nothing. */
export interface StreamView {
  /** Sent before anything else has happened. */
  readonly opening: string
  readonly show: (item: StreamItem) => string
  /** True once nothing more is to come, whatever the source still says. */
  readonly isComplete: () => boolean
  /** The source ended. */
  readonly close: () => string
  /** Why there is no answer, once it is complete. */
  readonly fault?: () => Error | undefined
  readonly fail: (error: unknown) => string
}

/** The reader of an event stream, and the work after the reader is gone. */
export interface EventStreamOptions {
  readonly clock: Clock
  /** Aborts when the client goes away. */
  readonly signal?: AbortSignal
  /** Called once, when all was sent or the client went away. */
  readonly onEnd?: (end: 'complete' | 'gone') => void
}

const heartbeatMs = 2_500
const heartbeat = ': still here\n\n'

/** A stream that ended before its run did. The run goes on. */
export function brokenOff(cause?: unknown): IsolaError {
  return new IsolaError(
    'request_unavailable',
    'The stream broke off. The run goes on, and its result is kept.',
    { transient: true, cause },
  )
}

interface Step {
  readonly text: string
  readonly isLast: boolean
}

/** A session's stream (one JSON item a line) from its first piece on, as its view shows it. */
export interface OpenedStream {
  readonly view: StreamView
  /** The first text that is shown, or what there was at the end. */
  readonly first: Promise<Step>
  /** The first, then what follows. */
  readonly next: () => Promise<Step>
  /** The rest of the stream has no reader. */
  readonly cancel: () => void
}

/** Begins to read, so that it is known what comes first before the answer has a status. */
export function openStream(source: ReadableStream<Uint8Array>, view: StreamView): OpenedStream {
  const reader = readLines(source)
  let isOver = false
  /** Loops over items that show nothing. */
  const read = async (): Promise<Step> => {
    for (;;) {
      const lines = await reader.read()
      if (isOver) return { text: '', isLast: true }
      if (lines === 'end') return { text: view.close(), isLast: true }
      const text = showAll(lines, view)
      if (view.isComplete()) return { text, isLast: true }
      if (text !== '') return { text, isLast: false }
    }
  }
  const first = read()
  // Its failure is handled where it is awaited; without a reader it must not be an unhandled rejection.
  first.catch(() => {})
  let isFirst = true
  return {
    view,
    first,
    next() {
      const step = isFirst ? first : read()
      isFirst = false
      return step
    },
    cancel() {
      isOver = true
      reader.cancel()
    },
  }
}

/**
 * Turns a session's stream into server-sent events, each forwarded as it arrives.
 * A comment in every 2.5 seconds of silence: proxies keep the connection, and one that is gone is noticed (the runtime
 * sees it only when a write fails).
 */
export const toEventStream = (
  source: ReadableStream<Uint8Array>,
  view: StreamView,
  options: EventStreamOptions,
): ReadableStream<Uint8Array> => showStream(openStream(source, view), options)

/** The same for a stream whose first item was read. */
export function showStream(
  opened: OpenedStream,
  options: EventStreamOptions,
): ReadableStream<Uint8Array> {
  const { view } = opened
  const { clock } = options
  const encoder = new TextEncoder()
  const ended = new AbortController()
  let lastSentMs = clock.nowMs()

  const end = (how: 'complete' | 'gone') => {
    if (ended.signal.aborted) return
    ended.abort('the stream ended') // without a reason it would make an error with a stack
    options.signal?.removeEventListener('abort', leave)
    opened.cancel()
    options.onEnd?.(how)
  }
  const leave = () => end('gone')

  /** One timer for many items: it is set again when it fires, for what is left of the silence. */
  const breakSilence = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    for (let leftMs = heartbeatMs; ; leftMs = lastSentMs + heartbeatMs - clock.nowMs()) {
      if (leftMs > 0) await clock.sleep(leftMs, ended.signal)
      else {
        // A client that does not read has no use for a heartbeat.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(heartbeat))
        lastSentMs = clock.nowMs()
      }
      if (ended.signal.aborted) return
    }
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (view.opening !== '') controller.enqueue(encoder.encode(view.opening))
      if (options.signal?.aborted) return leave()
      options.signal?.addEventListener('abort', leave)
      void breakSilence(controller)
    },
    async pull(controller) {
      const { text, isLast } = await opened.next().catch((error: unknown) => ({
        // A failure after our own leaving says nothing of the source.
        text: ended.signal.aborted ? '' : view.fail(error),
        isLast: true,
      }))
      lastSentMs = clock.nowMs()
      if (text !== '' && !ended.signal.aborted) controller.enqueue(encoder.encode(text))
      if (!isLast) return
      end('complete')
      controller.close()
    },
    cancel: leave,
  })
}

function showAll(lines: readonly string[], view: StreamView): string {
  let text = ''
  for (const line of lines) {
    if (view.isComplete()) break
    text += view.show(JSON.parse(line) as StreamItem) // written by our own session object
  }
  return text
}

type LinesOrEnd = readonly string[] | 'end'

function readLines(source: ReadableStream<Uint8Array>): {
  readonly read: () => Promise<LinesOrEnd>
  readonly cancel: () => void
} {
  const reader = source.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  return {
    async read() {
      const step = await reader.read().catch((cause: unknown) => {
        throw brokenOff(cause)
      })
      if (step.done) {
        const last = rest
        rest = ''
        return last === '' ? 'end' : [last]
      }
      const lines = (rest + decoder.decode(step.value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      return lines.filter((line) => line !== '')
    },
    // Fails only if the source is gone already, which is what was wanted.
    cancel: () => void reader.cancel().catch(() => undefined),
  }
}
