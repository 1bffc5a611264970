/** One request as the server saw it, recorded once its whole body has arrived. */
export interface RecordedRequest<Body = unknown> {
  method: string
  /** Without the query string. */
  path: string
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>
  /** Parsed JSON; the raw text when it is not JSON; undefined when empty. */
  body: Body
  /** Epoch milliseconds (fractional, monotonic) at which the request's head arrived. */
  atMs: number
  /** The client went away before the response was complete (not set by `cut` or `close()`). */
  aborted: boolean
}

export interface ChatMessage {
  role: string
  content?: string | null | { type: string; text?: string; [key: string]: unknown }[]
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[]
  tool_call_id?: string
  [key: string]: unknown
}

export interface ChatTool {
  type: string
  function: { name: string; description?: string; parameters?: Record<string, unknown> }
  [key: string]: unknown
}

export interface ChatRequestBody {
  model: string
  messages: ChatMessage[]
  tools?: ChatTool[]
  stream?: boolean
  stream_options?: { include_usage?: boolean }
  [key: string]: unknown
}

export type ChatRequest = RecordedRequest<ChatRequestBody>

export interface ScriptedToolCall {
  /** Default: `call_<idPrefix>_<n>_<i>`, unique within one server. */
  id?: string
  name: string
  /** A string is sent as it is (broken JSON included); anything else as JSON. Default `{}`. */
  arguments?: unknown
}

export interface ScriptedUsage {
  prompt_tokens: number
  completion_tokens: number
  prompt_tokens_details?: Record<string, number>
  completion_tokens_details?: Record<string, number>
}

export interface Reply {
  text?: string
  toolCalls?: ScriptedToolCall[]
  /** Without text: `content` is null, not an empty text. */
  noContent?: boolean
  /** Default: "tool_calls" when there are tool calls, otherwise "stop". */
  finishReason?: string
  /**
   * Default: prompt = ceil((JSON length of messages + of tools) / 4),
   * completion = ceil(text length / 4) + 8 per tool call. total_tokens is always computed.
   */
  usage?: ScriptedUsage
  /** Before the response head, on top of setLatency(). */
  delayMs?: number
  /** Characters per streamed delta (default 16); for a raw `body`, bytes per write. */
  chunkSize?: number
  /** Between chunks. */
  chunkDelayMs?: number
  /** From 400 up without `body`: an OpenAI-shaped error with this status. */
  status?: number
  headers?: Record<string, string>
  /** Sent instead of a completion: text and bytes as they are, anything else as JSON. */
  body?: string | Uint8Array | object
  /**
   * Destroys the socket after N chunks; 0 = before the response head. A streamed chunk is one SSE
   * event, `[DONE]` included; a body that is not a stream is left incomplete whatever N is.
   */
  cut?: number
  /** No usage at all, even when asked for. */
  omitUsage?: boolean
  /** A stream hangs before its finish_reason; a plain completion sends nothing; a `body` never ends. */
  stall?: boolean
}

/** `index` counts the chat requests since the script was set. */
export type ScriptFunction = (request: ChatRequest, index: number) => Reply | Promise<Reply>
export type Script = readonly Reply[] | ScriptFunction

export interface ModelServerOptions {
  /** Default 0: any free port. */
  port?: number
  /** Default: an empty list. */
  script?: Script
  latencyMs?: number
  /** Ids for GET /v1/models; chat accepts any model name. Default ["fake-model"]. */
  models?: string[]
  /** Any other model is refused with 404, in OpenAI's words. */
  onlyModels?: boolean
  /**
   * Models that refuse fields before the script is asked, in OpenAI's words: `reasoning` takes `max_completion_tokens` and
   * temperature 1 only, `legacy` takes `max_tokens` only.
   */
  dialects?: Readonly<Record<string, 'reasoning' | 'legacy'>>
  /** In completion and tool call ids. Change it when a restarted server must not repeat ids. */
  idPrefix?: string
}

export interface ModelServer {
  /** http://127.0.0.1:PORT/v1 */
  readonly url: string
  readonly port: number
  /** Every request in order, also those to other routes. */
  readonly requests: ChatRequest[]
  /** An exhausted list or a throwing script answers 400 (not retried by clients) and is noted here. */
  readonly scriptErrors: string[]
  /** Request body bytes received, without headers. */
  readonly upstreamBytes: number
  /** Sums over the completions served, cut and stalled ones included, errors and raw bodies not. */
  readonly promptTokens: number
  readonly completionTokens: number
  readonly openSockets: number
  /** Replaces the script and starts counting from 0. */
  script(next: Script): void
  /** Added before every chat reply. */
  setLatency(ms: number): void
  /** Destroys every socket. May be called twice. */
  close(): Promise<void>
}

export function startModelServer(options?: ModelServerOptions): Promise<ModelServer>

export interface EffectRequest extends RecordedRequest {
  query: Record<string, string>
  idempotencyKey: string | undefined
}

export interface EffectServer {
  /** http://127.0.0.1:PORT */
  readonly url: string
  readonly port: number
  readonly requests: EffectRequest[]
  /**
   * Deliveries per Idempotency-Key, counted on arrival, failed and slow ones included, never
   * deduplicated. Requests without the header are only in `requests`.
   */
  readonly effects: Map<string, number>
  readonly openSockets: number
  close(): Promise<void>
}

/**
 * Any path echoes the request as JSON; `/slow?ms=5000` waits first (default 1000);
 * `/status/500` answers with that status (and also honours `?ms=`).
 */
export function startEffectServer(options?: { port?: number }): Promise<EffectServer>

/** The script of the manual demo. */
export function demoScript(request: ChatRequest): Reply
