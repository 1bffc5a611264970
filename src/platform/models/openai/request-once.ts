import { APIError } from 'openai/error'
import { headOf } from '#contracts/cut.ts'
import type { IsolaError } from '#contracts/errors.ts'
import type { ModelCallOptions } from '#contracts/model.ts'
import type { OutboundAnswer } from '#contracts/outbound.ts'
import type { Clock } from '#contracts/sources.ts'
import type { CallWatch } from './call-watch.ts'
import type { Client } from './client.ts'
import { createEventDecoder, type StreamEvent } from './event-stream.ts'
import { createReplyAssembly, type Assembled } from './reply-assembly.ts'
import {
  createByteMeter,
  maxBodyBytes,
  maxEventBytes,
  maxReplyBytes,
  type ByteMeter,
} from './reply-limits.ts'
import { failureIn } from './said-failure.ts'
import { isObject, parsed } from './said-json.ts'

/** Translates a service's JSON, which is a stranger's, to a chat completion. */
export type Translate = (said: unknown) => unknown

export interface RequestOnce {
  readonly client: Client
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

/** An event that carries nothing, as a number does, or a word that keeps the line alive; the word may be its name, with a note beside it. */
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
  isRead.abort()
  if (!hasEnded) answer.cancel()
}
