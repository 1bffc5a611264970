import type {
  ModelCallOptions,
  ModelProvider,
  ModelReply,
  ModelRequest,
  ModelEstimate,
  ModelPrice,
  ToolDefinition,
} from '#contracts/model.ts'
import type { ModelCapabilities } from './types.ts'
import { type PriceOf, type WindowOf, costOf } from './prices.ts'
import { estimateTokenCount } from 'tokenx'
import { defaultMaxOutputTokens, inputReserveFactor } from '#contracts/lease.ts'
import type { TokenCounter } from '#contracts/context.ts'
import type { Message, OpaqueFields } from '#contracts/message.ts'

/** The limit of a whole call unless its agent or caller sets one: waits, retries and other models included. */
export const defaultTimeoutMs = 120_000

/** The options that selection adds to a caller's. */
export interface BackendCall extends ModelCallOptions {
  /** Called with the first piece of a reply: from here on no other model may take over. */
  readonly onHeard?: () => void
  /** Another model is ready: waiting longer than this before a retry is not worth it. */
  readonly maxWaitMs?: number
}

/** A provider before selection: `request.model` is a name that this service knows. */
export interface ModelBackend extends Pick<ModelProvider, 'id' | 'estimate'> {
  readonly generate: (request: ModelRequest, call: BackendCall) => Promise<ModelReply>
  readonly priceOf: PriceOf
}

/** A backend with the models it is known to have. */
export interface RegisteredBackend {
  readonly backend: ModelBackend
  /** By name; in order of preference. */
  readonly models: Readonly<Record<string, ModelCapabilities>>
  /** It may have more models than those: any name is tried. */
  readonly isOpen: boolean
  /** It may be given the address of an image. */
  readonly isPublic: boolean
  /** The most tokens that a model takes and gives, where they are known. */
  readonly windowOf: WindowOf
}

/** Counts tokens by rule of thumb: within about ten percent of an exact tokenizer, in 1 kB instead of 1 MB. */
export interface TokenEstimator extends TokenCounter {
  /** Everything a request sends: messages, tools and the schema it asks for. */
  readonly ofRequest: (request: ModelRequest) => number
}

/** The tokens that chat formats add around each message. */
const perMessage = 4
/** A guess: the tokens of an image depend on its size and the model. */
const perImage = 1_500

/**
 * Estimates tokens and remembers the count of each message and tool, by identity: a turn sends the whole transcript
 * again. Its memory belongs to this estimator.
 */
export function createTokenEstimator(): TokenEstimator {
  const ofSystem = rememberedText(textTokens)
  const ofMessage = remembered(
    (message: Message) =>
      perMessage + (message.role === 'system' ? ofSystem(message.text) : messageTokens(message)),
  )
  const ofTool = remembered(
    (tool: ToolDefinition) =>
      perMessage + textTokens(JSON.stringify([tool.name, tool.description, tool.inputSchema])),
  )
  const ofTools = (tools: readonly ToolDefinition[]) =>
    tools.reduce((sum, tool) => sum + ofTool(tool), 0)
  return {
    ofText: textTokens,
    ofMessage,
    ofTools,
    ofRequest: ({ messages, tools, outputSchema }) =>
      messages.reduce((sum, message) => sum + ofMessage(message), perMessage) +
      ofTools(tools) +
      (outputSchema ? textTokens(JSON.stringify(outputSchema)) : 0),
  }
}

/** The most a call may cost: input × 1.25 + output cap (docs/design.md invariant 3). Without a price it is 0. */
export function reservationFor(
  inputTokens: number,
  request: ModelRequest,
  price?: ModelPrice,
): ModelEstimate {
  const input = Math.ceil(inputTokens * inputReserveFactor)
  const output = outputCap(request)
  return { tokens: input + output, costNanoUsd: price ? costOf(price, input, output) : 0 }
}

/** The output cap of a call in tokens. */
export const outputCap = (request: ModelRequest): number =>
  request.parameters.maxOutputTokens ?? defaultMaxOutputTokens

function messageTokens(message: Message): number {
  switch (message.role) {
    case 'system':
      return textTokens(message.text)
    case 'user':
      return (
        textTokens(message.text) +
        textTokens(message.name ?? '') +
        (message.images?.length ?? 0) * perImage
      )
    case 'assistant':
      return (
        textTokens(message.text) +
        textTokens(message.name ?? '') +
        (message.toolCalls ?? []).reduce(
          (sum, { name, input, opaque }) =>
            sum + perMessage + textTokens(name + JSON.stringify(input)) + opaqueTokens(opaque),
          0,
        )
      )
    case 'tool':
      return textTokens(
        typeof message.output === 'string' ? message.output : JSON.stringify(message.output),
      )
  }
}

/** Counted for every service, also where it is not sent. */
const opaqueTokens = (opaque: OpaqueFields | undefined): number =>
  opaque ? textTokens(JSON.stringify(opaque)) : 0

const textTokens = (text: string): number => estimateTokenCount(text)

/** The few instructions of a deployment come again with every call, each time as a new message. */
const maxTexts = 64

function rememberedText(count: (text: string) => number): (text: string) => number {
  const known = new Map<string, number>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const tokens = count(text)
    if (known.size >= maxTexts) known.clear()
    known.set(text, tokens)
    return tokens
  }
}

function remembered<K extends object>(count: (key: K) => number): (key: K) => number {
  const known = new WeakMap<K, number>()
  return (key) => {
    const before = known.get(key)
    if (before !== undefined) return before
    const tokens = count(key)
    known.set(key, tokens)
    return tokens
  }
}
