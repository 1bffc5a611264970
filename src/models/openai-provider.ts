import { OpenAI } from 'openai'
import { IsolaError } from '#contracts/errors.ts'
import type { ModelCallOptions, ModelReply, ModelRequest, ModelUsage } from '#contracts/model.ts'
import type { Clock } from '#contracts/sources.ts'
import { reservationFor, type TokenEstimator } from './estimate.ts'
import { watchCall } from './openai/call-watch.ts'
import { notAStream, toModelError } from './openai/failures.ts'
import { createReplyAssembly, toChunk, type Assembled } from './openai/reply-assembly.ts'
import { capFieldFor, inOnePiece, toBody } from './openai/request-body.ts'
import type { ModelBackend } from './model-backend.ts'
import type { CostOf } from './prices.ts'

export interface OpenAiProviderOptions {
  /** Left out for servers that want none: no Authorization header is sent then. */
  readonly apiKey?: string | undefined
  /** Any OpenAI-compatible server, `/v1` included. Default: OpenAI itself. */
  readonly baseUrl?: string | undefined
  readonly fetch: typeof fetch
  readonly sleep: Clock['sleep']
  readonly tokens: TokenEstimator
  readonly costOf: CostOf
  /** The longest silence between two chunks in milliseconds; default 30,000. Before the first only the whole call is limited. */
  readonly idleMs?: number
}

const defaultTimeoutMs = 120_000
const defaultIdleMs = 30_000
const maxTries = 3
const firstBackoffMs = 500
const maxRetryAfterMs = 20_000

/**
 * Answers through an OpenAI-compatible `POST /chat/completions`, streamed if somebody reads along.
 *
 * Transient failures (429, 5xx, network) are tried at most twice more, and only while nothing of a reply has arrived:
 * after that a second try could be billed twice. `parameters.timeoutMs` limits the whole call, waits included.
 * Throws `model_…`, or the reason of the caller's signal once that has aborted.
 */
export function createOpenAiProvider(options: OpenAiProviderOptions): ModelBackend {
  const { apiKey, baseUrl, sleep, tokens, costOf, idleMs = defaultIdleMs } = options
  const capField = capFieldFor(baseUrl)
  const client = createClient(options)

  async function generate(
    request: ModelRequest,
    { signal, onDelta, onSent, isUnwatched }: ModelCallOptions,
  ): Promise<ModelReply> {
    const sent = once(onSent)
    const model = request.model ?? ''
    const { timeoutMs = defaultTimeoutMs } = request.parameters
    const watch = watchCall({ sleep, signal, timeoutMs, idleMs })
    const body = toBody({ ...request, model }, capField)
    let hasBegun = false

    async function tryOnce(): Promise<Assembled> {
      const assembly = createReplyAssembly()
      // `fetchOptions` reach our fetch below, and no further: one client serves all calls.
      const settings = {
        signal: watch.signal,
        timeout: timeoutMs,
        fetchOptions: { onSent: sent } as object,
      }
      if (isUnwatched) {
        assembly.add(toChunk(await client.chat.completions.create(inOnePiece(body), settings)))
        return assembly.finish()
      }
      const stream = await client.chat.completions.create(body, settings)
      for await (const chunk of stream) {
        hasBegun = true
        watch.beat()
        const added = assembly.add(chunk)
        if (added !== '') onDelta(added)
      }
      // The package ends an aborted stream without a word.
      watch.signal.throwIfAborted()
      return assembly.finish()
    }

    async function tryRepeatedly(): Promise<Assembled> {
      for (let tries = 1; ; tries += 1) {
        watch.signal.throwIfAborted()
        try {
          return await tryOnce()
        } catch (error) {
          if (watch.signal.aborted) throw watch.signal.reason
          const failure = toModelError(error, apiKey, model)
          if (hasBegun || tries === maxTries || !isWorthRetrying(failure)) throw failure
          await sleep(waitFor(failure, tries), watch.signal)
        }
      }
    }

    try {
      const reply = await tryRepeatedly()
      const answered = reply.model ?? model
      const { text, toolCalls, finishReason } = reply
      return {
        text,
        toolCalls,
        finishReason,
        usage: usageOf(reply, request, options),
        provider: 'openai',
        model: answered,
      }
    } finally {
      watch.end()
      sent()
    }
  }

  return {
    id: 'openai',
    estimate: (request) => reservationFor(tokens.ofRequest(request), request, costOf),
    generate,
  }
}

function createClient({ apiKey, baseUrl, fetch }: OpenAiProviderOptions): OpenAI {
  return new OpenAI({
    apiKey: apiKey ?? 'none',
    // Given explicitly, since the package reads the environment for whatever is left out (N4).
    baseURL: baseUrl ?? 'https://api.openai.com/v1',
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    dangerouslyAllowBrowser: true,
    ...(apiKey === undefined && { defaultHeaders: { Authorization: null } }),
    async fetch(url, init) {
      const { onSent, ...request } = (init ?? {}) as RequestInit & { onSent?: () => void }
      const underway = fetch(url, request)
      onSent?.()
      const response = await underway
      const type = response.headers.get('content-type')
      if (response.ok && type !== null && !isReply(type)) {
        throw notAStream(type, await startOf(response))
      }
      return response
    },
  })
}

function usageOf(
  { usage, model, text, toolCalls }: Assembled,
  request: ModelRequest,
  { tokens, costOf }: OpenAiProviderOptions,
): ModelUsage {
  const inputTokens = usage?.inputTokens ?? tokens.ofRequest(request)
  const outputTokens =
    usage?.outputTokens ??
    tokens.ofText(text) + (toolCalls.length > 0 ? tokens.ofText(JSON.stringify(toolCalls)) : 0)
  const cost =
    costOf(request.model ?? '', inputTokens, outputTokens) ??
    costOf(model ?? '', inputTokens, outputTokens)
  return {
    inputTokens,
    outputTokens,
    costNanoUsd: cost ?? 0,
    priced: cost !== undefined,
    estimated: usage === undefined,
  }
}

const isReply = (contentType: string): boolean =>
  contentType.includes('text/event-stream') || contentType.includes('application/json')

const isWorthRetrying = ({ code, transient }: IsolaError): boolean =>
  transient && code !== 'model_timeout'

function waitFor({ retryAfterMs }: IsolaError, tries: number): number {
  return Math.min(retryAfterMs ?? firstBackoffMs * 2 ** (tries - 1), maxRetryAfterMs)
}

function once(run: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    run()
  }
}

/** The first piece of a body that is not what we asked for; the rest is left where it is. */
async function startOf({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const chunk = await reader?.read().catch(() => undefined)
  await reader?.cancel().catch(() => undefined)
  return chunk?.value ? new TextDecoder().decode(chunk.value.subarray(0, 2_000)) : ''
}
