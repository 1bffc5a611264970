import { OutboundError, type OutboundAnswer, type Redaction } from '#contracts/outbound.ts'
import type { Clock } from '#contracts/sources.ts'

/** A body that knows whether it was taken whole. */
export interface WatchedBody {
  readonly body: ReadableStream<Uint8Array>
  readonly isTaken: () => boolean
}

/**
 * A text as a body of which the last byte is a piece of its own. The platform says "Network connection lost." of a
 * refused connection and of a lost answer alike; but it takes the last piece only after the connection stands, TLS
 * included, and the pieces before it are written. No server can have read a piece that was not taken.
 */
export function watchedBody(text: string): WatchedBody {
  const bytes = new TextEncoder().encode(text)
  const { readable, writable } = new FixedLengthStream(bytes.byteLength)
  const writer = writable.getWriter()
  let isTaken = false
  // Each fails with the request, which says so itself.
  writer.write(bytes.subarray(0, -1)).catch(() => {})
  writer.write(bytes.subarray(-1)).then(
    () => void (isTaken = true),
    () => {},
  )
  writer.close().catch(() => {})
  return { body: readable, isTaken: () => isTaken }
}

/** A reason that nothing reads: without one an error is made, with its stack. */
const isOver = 'It is over.'

/** As a person reads it. */
export const sizeText = (sizeBytes: number): string => `${sizeBytes / 1_048_576} MiB`

/** The time of one request and its answer. */
export interface Deadline {
  /** Ends what is under way: when it is late, or when the caller says so. */
  readonly signal: AbortSignal | undefined
  /** The work's outcome; rejects with `late` as soon as the time is up. */
  readonly within: <T>(work: Promise<T>) => Promise<T>
  /** Why it is over before its end, if it is. */
  readonly problem: (cause?: unknown) => OutboundError | undefined
  /** Clears the timer: a timer that stays would keep an object awake. */
  readonly end: () => void
}

/** Counts from now. Without a time only the caller's signal ends the request, and nothing is put in between. */
export function startDeadline(
  timeoutMs: number | undefined,
  { sleep, signal }: { readonly sleep: Clock['sleep']; readonly signal: AbortSignal | undefined },
): Deadline {
  const aborted = (cause?: unknown) =>
    signal?.aborted === true
      ? new OutboundError('aborted', 'The request was aborted.', cause)
      : undefined
  if (timeoutMs === undefined)
    return { signal, within: (work) => work, problem: aborted, end: () => {} }
  const over = new AbortController()
  const done = new AbortController()
  const ended = signal ? AbortSignal.any([done.signal, signal]) : done.signal
  const tooLate = () => new OutboundError('late', 'The request took too long.')
  const late = new Promise<never>((_resolve, reject) => {
    void sleep(timeoutMs, ended).then(() => {
      if (ended.aborted) return
      over.abort()
      reject(tooLate())
    })
  })
  // The caller may have stopped waiting.
  late.catch(() => {})
  return {
    signal: signal ? AbortSignal.any([over.signal, signal]) : over.signal,
    within: (work) => Promise.race([work, late]),
    problem: (cause) => (over.signal.aborted ? tooLate() : aborted(cause)),
    end: () => done.abort(isOver),
  }
}

/** A response, and its limits while it is read. */
export interface Received {
  readonly response: Response
  /** The address that answered. */
  readonly url: URL
  readonly maxBytes: number
  readonly deadline: Deadline
  readonly redaction: Redaction | undefined
  readonly sleep: Clock['sleep']
  readonly toError: (error: OutboundError) => Error
}

/**
 * Encodings that the platform unpacks itself, in their usual spelling: the bytes of any other encoding come
 * unchanged.
 */
const unpacked = /^(identity|gzip|br)?$/

/** Reads a response piece by piece, so that it is never larger in memory than it may be, however well it was packed. */
export function createAnswer(received: Received): OutboundAnswer {
  const { response, url, maxBytes, deadline, toError } = received
  const { status, body, headers } = response
  const encoding = (headers.get('content-encoding') ?? '').trim()
  let reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined
  let sizeBytes = 0
  if (body === null) deadline.end()

  const cancel = (): void => {
    deadline.end()
    void (reader ?? body)?.cancel().catch(() => {})
  }
  const failed = (...about: ConstructorParameters<typeof OutboundError>): Error => {
    cancel()
    return toError(deadline.problem(about[2]) ?? new OutboundError(...about))
  }
  const unbroken = <T>(reading: Promise<T>): Promise<T> =>
    deadline.within(reading).catch((cause: unknown) => {
      throw failed('broken_off', 'The answer broke off.', cause)
    })

  async function read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (body === null) return undefined
    reader ??= body.getReader()
    const { value, done } = await unbroken(reader.read())
    if (done) {
      deadline.end()
      return undefined
    }
    sizeBytes += value.byteLength
    if (sizeBytes > maxBytes)
      throw failed('too_large', `The answer is larger than ${sizeText(maxBytes)}.`)
    return value
  }

  async function bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const pieces: Uint8Array<ArrayBuffer>[] = []
    for (let piece = await read(); piece; piece = await read()) pieces.push(piece)
    return new Uint8Array(await new Blob(pieces).arrayBuffer())
  }

  async function text(): Promise<string> {
    // A known length without an encoding: no bytes need counting.
    const length = Number(headers.get('content-length') ?? Number.NaN)
    if (encoding === '' && length <= maxBytes && !reader)
      return unbroken(response.text()).finally(deadline.end)
    return new TextDecoder().decode(await bytes())
  }

  /** Bytes and headers as they are handed on. */
  async function toResponse(): Promise<Response> {
    const { redaction } = received
    const { statusText } = response
    const hasNoBody = body === null || [204, 205, 304].includes(status)
    if (hasNoBody) cancel()
    const left = new Headers(headers)
    left.delete('content-length')
    const isUnpacked = unpacked.test(encoding)
    if (isUnpacked) left.delete('content-encoding')
    if (!redaction?.redacts) {
      const stream = hasNoBody ? null : toStream({ read, cancel })
      return new Response(stream, { status, statusText, headers: left })
    }
    // A body that cannot be unpacked cannot be searched for secrets.
    const how = `encoded in a way that is not supported: ${encoding.slice(0, 40)}`
    if (!isUnpacked) throw failed('unsupported', `The answer is ${how}.`)
    // A value may lie across two pieces, so all of it is read first.
    return new Response(hasNoBody ? null : redaction.redactBytes(await bytes()), {
      status,
      statusText: redaction.redactText(statusText),
      headers: redaction.redactHeaders(left),
    })
  }

  return {
    status,
    headers,
    url,
    host: url.hostname,
    read,
    bytes,
    text,
    cancel,
    start: (limits) => readStart(limits, { read, cancel }, received),
    toResponse,
  }
}

/** Asks for a piece when it is asked for one, and never before. */
function toStream({
  read,
  cancel,
}: Pick<OutboundAnswer, 'read' | 'cancel'>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await read()
        if (piece) controller.enqueue(piece)
        else controller.close()
      },
      cancel,
    },
    { highWaterMark: 0 },
  )
}

async function readStart(
  { maxBytes, maxMs }: Parameters<OutboundAnswer['start']>[0],
  { read, cancel }: Pick<OutboundAnswer, 'read' | 'cancel'>,
  { deadline: { signal }, sleep }: Received,
): Promise<string> {
  const isRead = new AbortController()
  const over = signal ? AbortSignal.any([signal, isRead.signal]) : isRead.signal
  const isLate = sleep(maxMs, over)
  const decoder = new TextDecoder()
  let text = ''
  for (let sizeBytes = 0; sizeBytes < maxBytes;) {
    const piece = await Promise.race([read().catch(() => undefined), isLate])
    if (!piece) break
    const part = piece.subarray(0, maxBytes - sizeBytes)
    sizeBytes += part.length
    text += decoder.decode(part, { stream: true })
  }
  isRead.abort(isOver)
  cancel()
  return text
}
