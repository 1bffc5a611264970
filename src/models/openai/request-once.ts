import { APIError } from 'openai/error'
import type { IsolaError } from '#contracts/errors.ts'
import type { ModelCallOptions } from '#contracts/model.ts'
import type { Answer } from '#contracts/outbound.ts'
import type { Clock } from '#contracts/sources.ts'
import type { CallWatch } from './call-watch.ts'
import type { Client } from './client.ts'
import { createEventDecoder, type StreamEvent } from './event-stream.ts'
import { createReplyAssembly, toChunk, type Assembled } from './reply-assembly.ts'
import { createByteMeter, maxBodyBytes, maxEventBytes, maxReplyBytes } from './reply-limits.ts'
import { isObject, parsed } from './said-json.ts'

/** What a service said, as JSON of a stranger, in a chat completion's words. */
export type Translate = (said: unknown) => unknown

export interface RequestOnce {
  readonly client: Client
  /** JSON; asks for a stream unless nobody reads along. */
  readonly body: string
  readonly call: ModelCallOptions
  readonly watch: CallWatch
  readonly sleep: Clock['sleep']
  readonly toFailure: (error: unknown) => IsolaError
  readonly translate: Translate | undefined
}

/**
 * Sends one request and takes in what comes of it, within the limits of a reply. A stream that breaks after its finish
 * reason is whole. Throws whatever went wrong, as it is, and the watch's reason as soon as that aborts.
 */
export async function requestOnce(request: RequestOnce): Promise<Assembled> {
  const { client, body, call, watch, sleep, toFailure, translate = asItIs } = request
  const { signal, unlessStopped } = watch
  const { onDelta, onSent, onBegun } = call
  const headers = call.headers?.() ?? {}
  const maxBytes = call.isUnwatched ? maxBodyBytes : maxReplyBytes
  let isTaken = () => false
  const watchBody = (ask: () => boolean) => void (isTaken = ask)
  const sending = { body, headers, signal, maxBytes, watchBody, onSent, onBegun }
  const answer = await unlessStopped(client(sending)).catch((error: unknown) => {
    // No status came, and no server has the whole request: it cannot be billed.
    if (!isTaken() && !(error instanceof APIError && error.status !== undefined)) call.onUnsent?.()
    throw error
  })
  const assembly = createReplyAssembly()
  if (call.isUnwatched) {
    const text = await unlessStopped(answer.text())
    const said: unknown = text === '' ? undefined : JSON.parse(text)
    if (hasError(said)) throw new APIError(undefined, said.error, undefined, undefined)
    assembly.add(toChunk(translate(said)))
    return assembly.finish()
  }
  const meter = createByteMeter(maxEventBytes)
  let isDone = false
  try {
    await unlessStopped(readEvents())
  } catch (error) {
    const isLostOnly = ['model_network', 'model_timeout'].includes(toFailure(error).code)
    if (call.signal.aborted || !isLostOnly || !assembly.isWhole()) throw error
  } finally {
    if (isDone) void readToEnd(answer, sleep)
    else answer.cancel()
  }
  return assembly.finish()

  async function readEvents(): Promise<void> {
    const decoder = createEventDecoder()
    for (;;) {
      const bytes = await answer.read()
      if (bytes) meter.add(bytes.length)
      // Nobody waits for it any more.
      if (signal.aborted) return
      if (!bytes) break
      // A comment that keeps the line alive is a sign of life too.
      if (watch.hasHeard()) watch.beat()
      for (const event of decoder.push(bytes)) if (!take(event)) return
    }
    const begun = decoder.end()
    if (begun && parsed(begun.data) !== undefined) take(begun)
  }

  /** @returns False after the last event. */
  function take({ type, data }: StreamEvent): boolean {
    isDone = data === '[DONE]'
    if (isDone) return false
    const said = parsed(data)
    if (said === undefined) throw new SyntaxError('An event of the stream is not JSON.')
    const error = errorIn(said) ?? (type === 'error' ? said : undefined)
    if (error !== undefined) throw new APIError(undefined, Object(error), undefined, answer.headers)
    meter.endPiece()
    watch.beat()
    const added = assembly.add(translate(said))
    if (added !== '') onDelta(added)
    return true
  }
}

const asItIs: Translate = (said) => said

/** How long a stream may take to end after it has said that it is over. */
const maxEndWaitMs = 250

/** Only a connection whose reply was read to its end serves another request. Nobody waits for this. */
async function readToEnd(answer: Answer, sleep: Clock['sleep']): Promise<void> {
  const isRead = new AbortController()
  const isLate = sleep(maxEndWaitMs, isRead.signal).then(() => false)
  const isEnd = answer.read().then((piece) => piece === undefined)
  const hasEnded = await Promise.race([isEnd.catch(() => false), isLate])
  isRead.abort()
  if (!hasEnded) answer.cancel()
}

const errorIn = (said: unknown): unknown =>
  (isObject(said) && 'error' in said && said.error) || undefined

/** Some services say 200 and put what went wrong into the body. */
const hasError = (body: unknown): body is { readonly error: object } =>
  isObject(body) && 'error' in body && isObject(body.error)
