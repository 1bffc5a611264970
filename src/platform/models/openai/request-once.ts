import { APIError } from 'openai/error'
import { headOf } from '#contracts/cut.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { ModelCallOptions, After } from '#contracts/model.ts'
import type { OutboundAnswer } from '#contracts/outbound.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ModelClient } from './client.ts'
import { createReplyAssembly, type Assembled } from './reply-assembly.ts'
import {
  createByteMeter,
  maxBodyBytes,
  maxEventBytes,
  maxReplyBytes,
  type ByteMeter,
  failureIn,
  isObject,
  parsed,
} from './reply-limits.ts'
import { createParser } from 'eventsource-parser'
import { createLineFeeds } from '#contracts/foreign-json.ts'

/** One server-sent event. */
export interface StreamEvent {
  /** The event's own type; empty if it has none. */
  readonly type: string
  readonly data: string
}

interface EventDecoder {
  /** The events that these bytes complete, in order. */
  readonly push: (bytes: Uint8Array) => readonly StreamEvent[]
  /**
   * The event that was begun when the stream ended. By the specification it is none; servers forget its last line
   * end.
   */
  readonly end: () => readonly StreamEvent[]
}

/** The most characters of JSON that stands in a stream without an event: it is an error, and errors are short. */
const maxBareChars = 64_000
/** How often a stream may try to end one. */
const maxBareTries = 50

/**
 * Reads server-sent events however their bytes are cut. A JSON object that stands in the stream without `data:` in
 * front of it, as some gateways say an error, is an event too. Holds what is not complete yet: its caller limits
 * that.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function createEventDecoder(): EventDecoder {
  // Takes the byte order mark away, once.
  const decoder = new TextDecoder()
  const toLineFeeds = createLineFeeds()
  let events: StreamEvent[] = []
  let bare = ''
  let bareTries = 0

  function addBare(line: string): void {
    if (bareTries > maxBareTries || (bare === '' && !line.startsWith('{'))) return
    bare += `${line}\n`
    if (bare.length > maxBareChars) bare = ''
    if (!line.endsWith('}')) return
    bareTries += 1
    if (!isObject(parsed(bare))) return
    events.push({ type: '', data: bare })
    bare = ''
  }

  const parser = createParser({
    onEvent: ({ event = '', data }) => void events.push({ type: event, data }),
    onError: ({ line = '' }) => addBare(line),
  })
  function read(text: string): readonly StreamEvent[] {
    parser.feed(toLineFeeds(text))
    const completed = events
    events = []
    return completed
  }

  return {
    push: (bytes) => read(decoder.decode(bytes, { stream: true })),
    end: () => read(`${decoder.decode()}\n\n`),
  }
}

/** The limits of one model call, retries included. */
interface CallWatch {
  /** Aborts with the caller's own reason or with a `model_timeout`. */
  readonly signal: AbortSignal
  /** The same promise, or the signal's reason as soon as it aborts: not everything that waits listens to a signal. */
  readonly unlessStopped: <T>(work: Promise<T>) => Promise<T>
  /** Something arrived; from the first time on silence is limited too. */
  readonly beat: () => void
  /** Something arrived. */
  readonly hasHeard: () => boolean
  /** The pieces so far were empty: silence counts again from the next piece on. */
  readonly forget: () => void
  /** Stops the timers and lets go of the caller's signal. Call it exactly once, whatever happened. */
  readonly end: () => void
}

/** How finely silence is measured: it is noticed after 1 to 1.25 times the limit. */
const checksPerLimit = 4

/** A timer of its own, for a call that no run has. */
const afterBySleep =
  (sleep: Clock['sleep']): After =>
  (ms, due) => {
    const ended = new AbortController()
    void sleep(ms, ended.signal).then(() => {
      if (!ended.signal.aborted) due()
    })
    // With a reason: without one an error is made, with its stack.
    return () => ended.abort(over)
  }

/** Looks a few times within the limit of silence, and at last at the deadline, by the timer of the call's run. */
export function watchCall(options: {
  readonly sleep: Clock['sleep']
  readonly after: After | undefined
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly idleMs: number
}): CallWatch {
  const { sleep, after = afterBySleep(sleep), signal, timeoutMs, idleMs } = options
  const stop = new AbortController()
  let leftMs = timeoutMs
  let quietChecks = 0
  let isListening = false
  let callOff: () => void

  const { promise: stopped, reject } = Promise.withResolvers<never>()
  stopped.catch(() => {})
  const stopWith = (reason: unknown): void => {
    stop.abort(reason)
    reject(reason)
  }
  const onAbort = (): void => stopWith(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })

  function watch(): void {
    const waitMs = Math.min(leftMs, idleMs / checksPerLimit)
    callOff = after(waitMs, () => look(waitMs))
  }
  function look(waitedMs: number): void {
    if (stop.signal.aborted) return
    leftMs -= waitedMs
    quietChecks = isListening ? quietChecks + 1 : 0
    if (leftMs <= 0) stopWith(timeout(`The model did not finish within ${timeoutMs} ms.`))
    else if (quietChecks > checksPerLimit)
      stopWith(timeout(`The model sent nothing for ${idleMs} ms.`))
    else watch()
  }

  watch()
  return {
    signal: stop.signal,
    unlessStopped: (work) => Promise.race([work, stopped]),
    beat() {
      quietChecks = 0
      isListening = true
    },
    hasHeard: () => isListening,
    forget: () => void (isListening = false),
    end() {
      callOff()
      signal.removeEventListener('abort', onAbort)
    },
  }
}

const over = 'The call is over.'

const timeout = (message: string): IsolaError =>
  new IsolaError('model_timeout', message, { transient: true })

/** Translates a service's JSON, which is a stranger's, to a chat completion. */
export type Translate = (said: unknown) => unknown

export interface RequestOnce {
  readonly client: ModelClient
  /** JSON; asks for a stream unless the call is unwatched. */
  readonly body: string
  readonly call: ModelCallOptions
  readonly watch: CallWatch
  readonly sleep: Clock['sleep']
  readonly toFailure: (error: unknown) => IsolaError
  readonly translate: Translate | undefined
}

/**
 * Sends one request and collects its reply, within the limits of a reply: a stream of events or JSON in one piece,
 * whichever was requested. A stream that breaks after its finish reason is whole. Throws every failure unchanged, and
 * the watch's reason as soon as the watch aborts.
 */
export async function requestOnce(request: RequestOnce): Promise<Assembled> {
  const { client, body, call, watch, sleep, toFailure, translate = asItIs } = request
  const { signal, unlessStopped } = watch
  const { onDelta, onSent, onBegun, isUnwatched = false } = call
  const headers = call.headers?.() ?? {}
  let isTaken = () => false
  const watchBody = (ask: () => boolean) => void (isTaken = ask)
  const sending = { body, headers, signal, maxBytes: maxReplyBytes, watchBody, onSent, onBegun }
  const answer = await unlessStopped(client(sending)).catch((error: unknown) => {
    // No status came, and no server has the whole request: it cannot be billed.
    if (!isTaken() && !(error instanceof APIError && error.status !== undefined)) call.onUnsent?.()
    throw error
  })
  const assembly = createReplyAssembly()
  let start = ''
  /** The text that is passed on once the reply is known to be whole. */
  let late = ''
  let isDone = false
  try {
    await unlessStopped(read())
  } catch (error) {
    const isLostOnly = ['model_network', 'model_timeout'].includes(toFailure(error).code)
    if (call.signal.aborted || !isLostOnly || !assembly.isWhole()) throw error
  } finally {
    if (isDone) void readToEnd(answer, sleep)
    else answer.cancel()
  }
  const reply = assembly.finish(start)
  if (late !== '' && !isUnwatched) onDelta(late)
  return reply

  /** Servers answer in the other way than they were asked, and name neither: how the body begins says it. */
  async function read(): Promise<void> {
    const meter = createByteMeter(maxBodyBytes)
    for (let bytes = await answer.read(); bytes; bytes = await answer.read()) {
      meter.add(bytes.length)
      const said = bytes.subarray(startOf(bytes))
      if (said.length === 0) continue
      start = new TextDecoder().decode(said.subarray(0, maxStartBytes))
      return /^[{[]/.test(start) ? readJson(said, meter) : readEvents(said)
    }
  }

  async function readJson(first: Uint8Array<ArrayBuffer>, meter: ByteMeter): Promise<void> {
    const pieces = [first]
    for (let bytes = await answer.read(); bytes; bytes = await answer.read()) {
      meter.add(bytes.length)
      pieces.push(bytes)
    }
    const text = await new Blob(pieces).text()
    for (const said of valuesIn(text)) {
      throwFailure(failureIn(said))
      late += assembly.add(translate(said))
    }
  }

  async function readEvents(first: Uint8Array<ArrayBuffer>): Promise<void> {
    const meter = createByteMeter(maxEventBytes)
    const decoder = createEventDecoder()
    for (let bytes: typeof first | undefined = first; bytes; bytes = await answer.read()) {
      meter.add(bytes.length)
      // The caller has gone.
      if (signal.aborted) return
      // A comment that keeps the line alive is a sign of life too.
      if (watch.hasHeard()) watch.beat()
      for (const event of decoder.push(bytes)) {
        meter.endPiece()
        if (!take(event)) return
      }
    }
    for (const begun of decoder.end()) if (parsed(begun.data) !== undefined) take(begun)
  }

  /** @returns False after the last event. */
  function take({ type, data }: StreamEvent): boolean {
    const text = data.trim()
    isDone = /^\[DONE\]$/i.test(text)
    if (isDone) return false
    const said = parsed(text)
    throwFailure(failureIn(said) ?? (type === 'error' ? { message: text } : undefined))
    if (!isObject(said)) {
      if (!assembly.isWhole() && !isKeepAlive({ type, text, said }))
        throw new SyntaxError(
          `An event of the stream is no piece of a reply: ${headOf(text, maxStartBytes)}`,
        )
      return true
    }
    const pieces: readonly unknown[] = Array.isArray(said) ? said : [said]
    const added = pieces.map((piece) => assembly.add(translate(piece))).join('')
    // Without a reader no piece was shown: such a request may be sent again.
    if (isUnwatched) return true
    watch.beat()
    if (added !== '') onDelta(added)
    return true
  }

  function throwFailure(failure: object | undefined): void {
    if (failure) throw new APIError(undefined, failure, undefined, answer.headers)
  }
}

const asItIs: Translate = (said) => said

/**
 * An event that carries nothing, as a number does, or a word that keeps the line alive; the word may be its name,
 * with a note beside it.
 */
function isKeepAlive({ type, text, said }: StreamNote): boolean {
  const word = typeof said === 'string' ? said.trim() : text
  const isNamedSo = type !== '' && keepsAlive.test(type) && !/^[{["]/.test(text)
  const isMark = said === null || typeof said === 'number' || typeof said === 'boolean'
  return isMark || keepsAlive.test(word) || isNamedSo
}
interface StreamNote {
  readonly type: string
  readonly text: string
  readonly said: unknown
}
const keepsAlive =
  /^(?:|:.*|(?:keep[-_ ]?)?alive|ping|pong|heartbeat|noop|connected|waiting|queued|processing)[.!]*$/is

/** The most bytes of an invalid reply that an operator is shown. */
const maxStartBytes = 2_000

/** A byte order mark, and blanks with which a server keeps the line alive. */
const beforeStart = new Set([0xef, 0xbb, 0xbf, 0x20, 0x09, 0x0a, 0x0d])

function startOf(bytes: Uint8Array): number {
  const start = bytes.findIndex((byte) => !beforeStart.has(byte))
  return start < 0 ? bytes.length : start
}

/** The JSON of a body: one value, a list of pieces, or a piece a line. */
function valuesIn(text: string): readonly unknown[] {
  const whole = parsed(text)
  if (whole !== undefined) return Array.isArray(whole) ? whole : [whole]
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => JSON.parse(line) as unknown)
}

/** How long a stream may take to end after it has said that it is over. */
const maxEndWaitMs = 250

/** Only a connection whose reply was read to its end serves another request. The caller does not wait for this. */
async function readToEnd(answer: OutboundAnswer, sleep: Clock['sleep']): Promise<void> {
  const isRead = new AbortController()
  const isLate = sleep(maxEndWaitMs, isRead.signal).then(() => false)
  const isEnd = answer.read().then((piece) => piece === undefined)
  const hasEnded = await Promise.race([isEnd.catch(() => false), isLate])
  isRead.abort(over)
  if (!hasEnded) answer.cancel()
}
