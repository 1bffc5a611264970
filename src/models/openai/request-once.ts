import { APIError, type OpenAI } from 'openai'
import type { IsolaError } from '#contracts/errors.ts'
import type { ModelCallOptions } from '#contracts/model.ts'
import type { CallWatch } from './call-watch.ts'
import { asFetchOptions } from './client.ts'
import { createReplyAssembly, toChunk, type Assembled } from './reply-assembly.ts'
import { createByteMeter, maxBodyBytes, maxEventBytes } from './reply-limits.ts'
import { inOnePiece, type Body } from './request-body.ts'

/** What a service said, as JSON of a stranger, in a chat completion's words. */
export type Translate = (said: unknown) => unknown

export interface RequestOnce {
  readonly client: OpenAI
  readonly body: Body
  readonly call: ModelCallOptions
  readonly watch: CallWatch
  readonly timeoutMs: number
  readonly toFailure: (error: unknown) => IsolaError
  readonly translate: Translate | undefined
}

/**
 * Sends one request and takes in what comes of it, within the limits of a reply. A stream that breaks after its finish
 * reason is whole. Throws whatever went wrong, as it is.
 */
export async function requestOnce(request: RequestOnce): Promise<Assembled> {
  const { client, body, call, watch, timeoutMs, toFailure } = request
  const { translate = asItIs } = request
  const { onSent, onBegun, onDelta, isUnwatched } = call
  const { signal } = watch
  const assembly = createReplyAssembly()
  const meter = createByteMeter(isUnwatched ? maxBodyBytes : maxEventBytes)
  const hooks = {
    signal,
    onSent,
    onBegun,
    onBytes(sizeBytes: number) {
      meter.add(sizeBytes)
      // A comment that keeps the line alive is a sign of life too.
      if (watch.hasHeard()) watch.beat()
    },
  }
  const settings = {
    signal,
    timeout: timeoutMs,
    headers: call.headers?.() ?? {},
    fetchOptions: asFetchOptions(hooks),
  }
  if (isUnwatched) {
    const completion = await client.chat.completions.create(inOnePiece(body), settings)
    if (hasError(completion)) throw new APIError(undefined, completion.error, undefined, undefined)
    assembly.add(toChunk(translate(completion)))
    return assembly.finish()
  }
  const stream = await client.chat.completions.create(body, settings)
  try {
    for await (const chunk of stream) {
      meter.endPiece()
      watch.beat()
      const added = assembly.add(translate(chunk))
      if (added !== '') onDelta(added)
    }
    // The package ends an aborted stream without a word.
    signal.throwIfAborted()
  } catch (error) {
    const isLostOnly = ['model_network', 'model_timeout'].includes(toFailure(error).code)
    if (call.signal.aborted || !isLostOnly || !assembly.isWhole()) throw error
  }
  return assembly.finish()
}

const asItIs: Translate = (said) => said

/** Some services say 200 and put what went wrong into the body. */
const hasError = (body: unknown): body is { readonly error: object } =>
  isObject(body) && 'error' in body && isObject(body.error)

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
