import { headOf } from '#contracts/cut.ts'
import type { OpenAI } from 'openai'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { ModelReply, ModelToolCall } from '#contracts/model.ts'
import {
  isDeeperThan,
  maxArgumentsChars,
  maxArgumentsDepth,
  maxCalls,
  maxNameChars,
  maxReplyChars,
  tooLarge,
} from './reply-limits.ts'

type Chunk = OpenAI.Chat.Completions.ChatCompletionChunk
type CallDelta = OpenAI.Chat.Completions.ChatCompletionChunk.Choice.Delta.ToolCall

/** A reply put together from its chunks. */
export interface Assembled {
  readonly text: string
  readonly toolCalls: readonly ModelToolCall[]
  readonly finishReason: ModelReply['finishReason']
  /** As the server counted it; `undefined` if it did not. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | undefined
  /** The model the server says answered. */
  readonly model: string | undefined
}

export interface ReplyAssembly {
  /** Takes one chunk and returns the text it adds. Throws `model_invalid_reply` past a limit. */
  readonly add: (chunk: unknown) => string
  /** The service has said why the reply is over: what may follow is usage only. */
  readonly isWhole: () => boolean
  /** Throws `model_invalid_reply`, `model_empty_reply`, or `model_network` if the stream ended too early. */
  readonly finish: () => Assembled
}

interface CallDraft {
  id: string
  name: string
  json: string
  readonly index: number | undefined
}

/** A completion that came in one piece, as the one chunk of a stream. */
export function toChunk(said: unknown): Chunk {
  const completion = asCompletion(said)
  const choice = Array.isArray(completion?.choices) ? completion.choices[0] : undefined
  const calls: unknown = choice?.message?.tool_calls
  const tool_calls = Array.isArray(calls) ? calls.map((call, index) => ({ ...call, index })) : []
  const choices = choice ? [{ ...choice, delta: { ...choice.message, tool_calls } }] : []
  return { ...completion, object: 'chat.completion.chunk', choices } as unknown as Chunk
}

// Every field that is read of these is checked where it is read.
const asChunk = (said: unknown) => said as Chunk
const asCompletion = (said: unknown) => said as OpenAI.Chat.Completions.ChatCompletion

/** Collects a streamed chat completion. Chunks are parsed JSON of a stranger: nothing in them is taken for granted. */
export function createReplyAssembly(): ReplyAssembly {
  let text = ''
  let model: string | undefined
  let finishReason: string | undefined
  let usage: Assembled['usage']
  let hasChoice = false
  let hasText = false
  let chars = 0
  const drafts: CallDraft[] = []

  function addCall({ index, id, function: part }: Partial<CallDelta>): void {
    // An id that no service would make up is none: the call gets one of ours.
    const given = typeof id === 'string' && id.length <= maxNameChars ? id : ''
    const last =
      index === undefined ? drafts.at(-1) : drafts.findLast((draft) => draft.index === index)
    // Some servers number all parallel calls 0 and tell them apart by id only.
    const isNew = last === undefined || (given !== '' && last.id !== '' && given !== last.id)
    const draft: CallDraft = isNew ? { id: '', name: '', json: '', index } : last
    if (isNew) drafts.push(draft)
    if (drafts.length > maxCalls) throw tooLarge(`${maxCalls} tool calls`)
    if (given !== '') draft.id = given
    // A name comes once; servers that repeat it with every piece must not double it.
    if (typeof part?.name === 'string' && draft.name === '')
      draft.name = headOf(part.name, maxNameChars)
    if (typeof part?.arguments !== 'string') return
    weigh(part.arguments)
    draft.json += part.arguments
    if (draft.json.length > maxArgumentsChars) throw tooLarge('1 MiB of arguments for one call')
  }

  function weigh(part: string): void {
    chars += part.length
    if (chars > maxReplyChars) throw tooLarge('4 MiB of text and arguments')
  }

  return {
    add(said) {
      const chunk = asChunk(said)
      if (typeof chunk?.model === 'string' && chunk.model !== '')
        model = headOf(chunk.model, maxNameChars)
      usage = usageOf(chunk?.usage) ?? usage
      const choice = Array.isArray(chunk?.choices) ? chunk.choices[0] : undefined
      if (choice === null) throw new TypeError('A choice in the stream is null.')
      if (!choice) return ''
      hasChoice = true
      if (typeof choice.finish_reason === 'string') finishReason = choice.finish_reason
      const calls: unknown = choice.delta?.tool_calls
      if (Array.isArray(calls)) for (const call of calls) addCall(call ?? {})
      const added = choice.delta?.content ?? choice.delta?.refusal
      if (typeof added !== 'string') return ''
      // An empty text is one: that the model had nothing to say is said.
      hasText = true
      weigh(added)
      text += added
      return added
    },

    isWhole: () => finishReason !== undefined,

    finish() {
      if (!hasChoice)
        throw new IsolaError('model_invalid_reply', 'The model service answered without a choice.')
      if (finishReason === undefined) {
        throw new IsolaError(
          'model_network',
          'The model service ended its reply before it was complete.',
          { transient: true },
        )
      }
      const toolCalls = withUniqueIds(drafts)
      const reason = finishReasonOf(finishReason, toolCalls.length > 0)
      // Cut off while it still thought, or held back, it says why there is nothing.
      if (!hasText && reason === 'stop')
        throw new IsolaError(
          'model_empty_reply',
          'The model service answered with neither text nor a call.',
          { transient: true },
        )
      return {
        text,
        toolCalls,
        finishReason: reason,
        usage,
        model,
      }
    },
  }
}

function withUniqueIds(drafts: readonly CallDraft[]): readonly ModelToolCall[] {
  const seen = new Set<string>()
  return drafts.map(({ id, name, json }, index) => {
    const unique = id === '' || seen.has(id) ? `call_${index + 1}` : id
    seen.add(unique)
    // Without a name it is a tool that nobody has: the model is told so and goes on.
    return { id: unique, name: name === '' ? 'unnamed' : name, input: toInput(json) }
  })
}

/**
 * Arguments as the model wrote them; what is not a sensible JSON object is kept as `{ "": raw }` and fails validation.
 * It goes back to the model with every turn, so that only the start of a long one is kept.
 */
function toInput(json: string): JsonObject {
  // Nothing at all is how several servers spell a call without arguments.
  if (json.trim() === '') return {}
  if (isDeeperThan(maxArgumentsDepth, json)) return notAnObject(json)
  try {
    const value: unknown = JSON.parse(json)
    // JSON.parse makes JSON only.
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as JsonObject
  } catch {
    // Falls through: the raw text says more to the model than our parser's complaint.
  }
  return notAnObject(json)
}

const maxRawChars = 8_000

const notAnObject = (json: string): JsonObject => ({
  '':
    json.length <= maxRawChars
      ? json
      : `${headOf(json, maxRawChars)}… (${json.length} characters in all)`,
})

function usageOf(usage: unknown): Assembled['usage'] {
  if (typeof usage !== 'object' || usage === null) return undefined
  if (!('prompt_tokens' in usage) || !('completion_tokens' in usage)) return undefined
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = usage
  return isCount(inputTokens) && isCount(outputTokens) ? { inputTokens, outputTokens } : undefined
}

/** Ten times the longest context there is; a figure above it was not counted. */
const maxTokens = 10_000_000

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= maxTokens

function finishReasonOf(reason: string, hasCalls: boolean): ModelReply['finishReason'] {
  if (reason === 'length' || reason === 'content_filter') return reason
  return hasCalls ? 'tool_calls' : 'stop'
}
