import type { OutputCapField } from './types.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { ModelReply, ModelRequest, ModelUsage } from '#contracts/model.ts'
import type { Send } from '#contracts/outbound.ts'
import type { Clock } from '#contracts/sources.ts'
import {
  reservationFor,
  type TokenEstimator,
  defaultTimeoutMs,
  type BackendCall,
  type ModelBackend,
} from './estimate.ts'
import { watchCall, requestOnce, type Translate } from './openai/request-once.ts'
import { createClient } from './openai/client.ts'
import { createDialects, refusedField } from './openai/dialect.ts'
import { toModelError } from './openai/failures.ts'
import { serviceOf, withOpaque } from './openai/opaque-fields.ts'
import type { Assembled } from './openai/reply-assembly.ts'
import { createBodyWriter } from './openai/request-body.ts'
import { costOf, type PriceOf } from './prices.ts'

export interface OpenAiProviderOptions {
  /** Default `openai`. */
  readonly id?: string
  /** Left out for servers that want none: no Authorization header is sent then. */
  readonly apiKey?: string | undefined
  /** Any OpenAI-compatible server, `/v1` included. Default: OpenAI itself. */
  readonly baseUrl?: string | undefined
  readonly send: Send
  readonly sleep: Clock['sleep']
  readonly tokens: TokenEstimator
  readonly priceOf: PriceOf
  /** The operator's setting for this server; absent: the model's name decides, and the server's errors. */
  readonly outputCapField?: OutputCapField
  /** It may be given addresses of images. Without it only what was fetched here is sent. */
  readonly isPublic?: boolean
  /** Told of each call that failed, for an operator's eyes: `detail` is what the service said. */
  readonly onFailed?: ((failure: IsolaError) => void) | undefined
  /**
   * The longest silence between two chunks in milliseconds; default 30,000. Before the first only the whole call is
   * limited.
   */
  readonly idleMs?: number
  /** Turns what a service says in words of its own, a chunk or a whole reply, into a chat completion's. */
  readonly translate?: Translate
}

const defaultIdleMs = 30_000
const maxTries = 3
const firstBackoffMs = 500
const maxRetryAfterMs = 20_000

/**
 * Answers through an OpenAI-compatible `POST /chat/completions`, streamed if a reader follows the reply.
 *
 * Transient failures (429, 5xx, network) are tried at most twice more, if the caller's lease allows it, and only while
 * nothing of a reply has arrived. `parameters.timeoutMs` limits the whole call, waits included. A reply that lost its
 * connection after its finish reason is whole. Throws `model_…`, or the reason of the caller's signal once that has
 * aborted.
 */
export function createOpenAiProvider(options: OpenAiProviderOptions): ModelBackend {
  const { id = 'openai', apiKey, baseUrl, sleep, tokens, priceOf, translate } = options
  const { idleMs = defaultIdleMs, onFailed } = options
  const dialects = createDialects(baseUrl, options.outputCapField)
  const client = createClient(options)
  const writeBody = createBodyWriter({ takesAddresses: options.isPublic === true })

  async function generate(request: ModelRequest, call: BackendCall): Promise<ModelReply> {
    const model = request.model ?? ''
    const { maxWaitMs = maxRetryAfterMs } = call
    const { timeoutMs = defaultTimeoutMs } = request.parameters
    const service = serviceOf(id, baseUrl, model)
    const watch = watchCall({ sleep, after: call.after, signal: call.signal, timeoutMs, idleMs })
    const toFailure = (error: unknown): IsolaError => toModelError(error, apiKey, model)

    async function tryRepeatedly(): Promise<Assembled> {
      let dialect = dialects.of(model)
      let body: string | undefined
      const refusedFields = new Set<string>()
      for (let tries = 1; ; tries += 1) {
        watch.signal.throwIfAborted()
        body ??= writeBody({ ...request, model }, dialect, { ...call, service })
        try {
          const reply = await requestOnce({
            client,
            body,
            call,
            watch,
            sleep,
            toFailure,
            translate,
          })
          if (refusedFields.size > 0) dialects.learn(model, dialect)
          return reply
        } catch (error) {
          if (watch.signal.aborted) throw watch.signal.reason
          const failure = toFailure(error)
          const refused = refusedField(error, dialect, request.parameters)
          // Once for each field: a server that takes neither has its say.
          const isUnheard = !watch.hasHeard()
          if (refused && isUnheard && !refusedFields.has(refused.field) && call.mayRetry(failure)) {
            refusedFields.add(refused.field)
            dialect = refused.instead
            body = undefined
            tries -= 1
            continue
          }
          // The reply had no text for a reader: the next try begins anew.
          if (failure.code === 'model_empty_reply') watch.forget()
          const waitMs = waitFor(failure, tries)
          const isLast = watch.hasHeard() || tries === maxTries || waitMs >= timeoutMs
          if (
            isLast ||
            waitMs > maxWaitMs ||
            !isWorthRetrying(failure) ||
            !call.mayRetry(failure)
          ) {
            onFailed?.(failure)
            throw failure
          }
          await sleep(waitMs, watch.signal)
        }
      }
    }

    try {
      const reply = await tryRepeatedly()
      const answered = reply.model ?? model
      const { text, finishReason, opaque } = reply
      const toolCalls = withOpaque(reply.toolCalls, opaque, service)
      return {
        text,
        // Not every service obeys: without parallel calls only the first counts.
        toolCalls:
          request.parameters.parallelToolCalls === false ? toolCalls.slice(0, 1) : toolCalls,
        finishReason,
        usage: usageOf(reply, request, options),
        provider: id,
        model: answered,
      }
    } finally {
      if (watch.hasHeard()) call.onHeard?.()
      watch.end()
    }
  }

  return {
    id,
    estimate: (request) =>
      reservationFor(tokens.ofRequest(request), request, priceOf(request.model ?? '')),
    generate,
    priceOf,
  }
}

function usageOf(
  { usage, model, text, toolCalls }: Assembled,
  request: ModelRequest,
  { tokens, priceOf }: OpenAiProviderOptions,
): ModelUsage {
  const isEmpty = text === '' && toolCalls.length === 0
  // Something cannot have cost nothing: a service that says so has not counted.
  const isCounted =
    usage !== undefined && usage.inputTokens > 0 && (isEmpty || usage.outputTokens > 0)
  const inputTokens = isCounted ? usage.inputTokens : tokens.ofRequest(request)
  const outputTokens = isCounted ? usage.outputTokens : outputOf({ text, toolCalls }, tokens)
  const price = priceOf(request.model ?? '') ?? priceOf(model ?? '')
  return {
    inputTokens,
    outputTokens,
    costNanoUsd: price ? costOf(price, inputTokens, outputTokens) : 0,
    priced: price !== undefined,
    estimated: !isCounted,
  }
}

const outputOf = (
  { text, toolCalls }: Pick<Assembled, 'text' | 'toolCalls'>,
  tokens: TokenEstimator,
): number =>
  tokens.ofText(text) + (toolCalls.length > 0 ? tokens.ofText(JSON.stringify(toolCalls)) : 0)

const isWorthRetrying = ({ code, transient }: IsolaError): boolean =>
  transient && code !== 'model_timeout'

function waitFor({ retryAfterMs }: IsolaError, tries: number): number {
  return Math.min(retryAfterMs ?? firstBackoffMs * 2 ** (tries - 1), maxRetryAfterMs)
}
