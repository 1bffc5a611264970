import { headOf } from '#contracts/cut.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { ModelReply } from '#contracts/model.ts'
import { toVisible } from '#contracts/visible-text.ts'
import { isObject, maxNameChars, maxReplyChars, tooLarge } from './reply-limits.ts'
import type { JsonObject } from '#contracts/json.ts'
import { createCallDrafts } from './call-drafts.ts'
import { withoutReply } from './failures.ts'
import {
  createOpaqueDraft,
  opaqueOfMessage,
  type DraftedCall,
  type OpaqueBudget,
} from './opaque-fields.ts'
import { readContent, typeName, unreadable } from './said-content.ts'

type Meaning = ModelReply['finishReason'] | 'failed'

/**
 * The services' names for the end of a reply, in lower case and with `_` for any mark between words; each word once.
 */
export const reasonsOf: Readonly<Record<Meaning, string>> = {
  stop:
    'stop stopped eos eos_token end_turn stop_sequence stop_sequence_hit stop_token complete ' +
    'completed finished finish_reason_stop',
  tool_calls: 'tool_calls tool_call function_call function_calls tool_use',
  length:
    'length max_tokens max_output_tokens max_completion_tokens max_new_tokens max_length ' +
    'model_length context_length model_context_window_exceeded context_length_exceeded ' +
    'token_limit error_limit finish_reason_max_tokens',
  content_filter:
    'content_filter content_filtered sensitive safety image_safety refusal recitation ' +
    'image_recitation blocklist prohibited_content spii language image_prohibited_content ' +
    'guardrail_intervened error_toxic moderation blocked',
  failed:
    'error network_error insufficient_system_resource abort aborted cancelled canceled ' +
    'timeout malformed_function_call unexpected_tool_call other failed user_cancel ' +
    'finish_reason_unspecified malformed_response unknown',
}

const meanings: ReadonlyMap<string, Meaning> = new Map(
  (Object.keys(reasonsOf) as Meaning[]).flatMap((meaning) =>
    reasonsOf[meaning].split(' ').map((reason) => [reason, meaning] as const),
  ),
)

const maxDetailChars = 2_000

/** How services write that there is none yet. */
const none = /^(?:null|none|undefined)?$/i

/**
 * Why a reply is over, as its service spells it; `undefined` if it has not said so. A service may send it anew with
 * each piece, and empty until the last one.
 */
function saidReason(said: unknown): string | undefined {
  if (said === undefined || said === null || said === false) return undefined
  if (typeof said === 'object' && 'type' in said) return saidReason(said.type)
  const reason = (typeof said === 'string' ? said : JSON.stringify(said)).trim()
  return none.test(reason) ? undefined : reason
}

/** Google's address writes what was filtered behind it: `content_filter: RECITATION`. */
const meaningOf = (reason: string): Meaning | undefined =>
  meanings.get(
    reason
      .split(':')[0]!
      .trim()
      .replace(/[ .-]+/g, '_')
      .toLowerCase(),
  )

/** From a normal end to none at all: a later reason of a reply takes the place of one that is no worse. */
const ranks: readonly (Meaning | undefined)[] = [
  'stop',
  'tool_calls',
  'length',
  'content_filter',
  'failed',
  undefined,
]
const rankOf = (reason: string): number => ranks.indexOf(meaningOf(reason))

/** The graver of two reasons in one reply. */
const worseReason = (before: string | undefined, next: string): string =>
  before !== undefined && rankOf(before) > rankOf(next) ? before : next

/**
 * The meaning of a reason. Throws `model_unavailable` for a failure, and `model_invalid_reply` for an unknown reason
 * (it is a limit, a filter or a failure, and never a normal end) and for a reason that announces a missing call.
 *
 * @param came What came with it. Nothing at all ends as nothing does, whatever was announced.
 */
function finishReasonOf(
  reason: string,
  { text, isEmpty, hasCalls }: Came,
): ModelReply['finishReason'] {
  const meaning = meaningOf(reason)
  if (meaning === 'stop' || (meaning === 'tool_calls' && (hasCalls || isEmpty)))
    return hasCalls ? 'tool_calls' : 'stop'
  if (meaning === 'length' || meaning === 'content_filter') return meaning
  const shown = toVisible(headOf(reason, 60))
  const detail = headOf(`finish_reason ${shown}, after: ${text}`, maxDetailChars)
  if (meaning === 'failed') {
    const message = `The model service broke its reply off (finish_reason "${shown}").`
    throw new IsolaError('model_unavailable', message, { detail, transient: true })
  }
  if (meaning === 'tool_calls') {
    const message =
      `The model service ended its reply for a call (finish_reason "${shown}") and sent none: it is not ` +
      'taken for a complete one.'
    throw new IsolaError('model_invalid_reply', message, { detail })
  }
  const message =
    `The model service ended its reply with a reason that is not known here (finish_reason "${shown}"): ` +
    'it is not taken for a complete one.'
  throw new IsolaError('model_invalid_reply', message, { detail })
}

interface Came {
  /** An operator reads its beginning. */
  readonly text: string
  /** There is neither a text nor a call, be it an empty one. */
  readonly isEmpty: boolean
  readonly hasCalls: boolean
}

/** The tokens that a service counted. */
interface Tokens {
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * Reads a service's count; `undefined` if it is none. Tokens that are in its sum and not in its output count as
 * output: several services leave thinking out there, and bill it.
 */
function tokensIn(said: unknown): Tokens | undefined {
  if (!isObject(said)) return undefined
  const usage = said as Record<string, unknown>
  const inputTokens = countOf(usage.prompt_tokens ?? usage.input_tokens)
  if (inputTokens === undefined) return undefined
  const total = countOf(usage.total_tokens)
  const rest = total === undefined ? undefined : Math.max(0, total - inputTokens)
  const output = countOf(usage.completion_tokens ?? usage.output_tokens) ?? rest
  return output === undefined
    ? undefined
    : { inputTokens, outputTokens: Math.max(output, rest ?? 0) }
}

/** Ten times the longest context there is; a figure above it was not counted. */
const maxTokens = 10_000_000

function countOf(value: unknown): number | undefined {
  const isCount = Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= maxTokens
  return isCount ? Number(value) : undefined
}

/** A reply put together from its chunks. */
export interface Assembled {
  readonly text: string
  readonly toolCalls: readonly DraftedCall[]
  readonly finishReason: ModelReply['finishReason']
  /** As the server counted it; `undefined` if it did not. */
  readonly usage: Tokens | undefined
  /** The model the server says answered. */
  readonly model: string | undefined
  /** The fields of its message that its service wants back. */
  readonly opaque: JsonObject | undefined
}

export interface ReplyAssembly {
  /**
   * Takes one chunk, or a whole completion, and returns the text it adds. Throws `model_invalid_reply` past a limit,
   * and for what is written in a way that is not read.
   */
  readonly add: (said: unknown) => string
  /** The service has sent its finish reason: only usage may follow. */
  readonly isWhole: () => boolean
  /**
   * @param start How its answer began, for an operator.
   *
   * Throws `model_invalid_reply`, `model_empty_reply`, `model_network` if the stream ended too early, or
   * `model_unavailable` if the service says so.
   */
  readonly finish: (start?: string) => Assembled
}

/** Collects a chat completion. Its input is parsed JSON of a stranger: every field is checked. */
export function createReplyAssembly(): ReplyAssembly {
  let text = ''
  /** The first half of a character whose second half comes with the next piece. */
  let half = ''
  let model: string | undefined
  let finishReason: string | undefined
  let usage: Assembled['usage']
  let hasChoice = false
  let hasText = false
  let hasPieces = false
  let chars = 0
  const budget: OpaqueBudget = { chars: 0 }
  const opaque = createOpaqueDraft(budget)
  const calls = createCallDrafts({ weigh, budget })

  function weigh(count: number): void {
    chars += count
    if (chars > maxReplyChars) throw tooLarge('4 MiB of text and arguments')
  }

  function addText(said: string): string {
    weigh(said.length)
    const joined = half + said
    half = endsInHalf.test(joined) ? joined.slice(-1) : ''
    const added = joined.slice(0, joined.length - half.length).toWellFormed()
    text += added
    return added
  }

  /** @param isPiece It goes on from what came before; else it is the whole message. */
  function addMessage(message: unknown, isPiece: boolean): string {
    if (message === undefined || message === null) return ''
    if (typeof message === 'string') return addSaid(message, isPiece)
    if (!isObject(message) || Array.isArray(message))
      throw unreadable(`a message as ${typeName(message)}`)
    const said = message as Record<string, unknown>
    // Some services end a stream with the whole message.
    const { tool_calls: listed } = said
    const content = readContent(said.content ?? said.text)
    // Calls in both places are the same calls twice.
    const isListed = isObject(listed) && Object.keys(listed).length > 0
    const made = isListed || content.calls.length === 0 ? listed : content.calls
    if (!isPiece && hasPieces && Array.isArray(made) && made.length > 0) calls.clear()
    calls.add(made)
    calls.addFunctionCall(said.function_call)
    opaque.add(opaqueOfMessage(message))
    if (content.thoughts.length > 0) opaque.add({ content: content.thoughts })
    const refusal = content.text ? undefined : readContent(said.refusal, 'refusal').text
    const added = refusal ?? content.text
    return added === undefined ? '' : addSaid(added, isPiece)
  }

  function addSaid(said: string, isPiece: boolean): string {
    // An empty text is an answer, too: the model had nothing to say.
    hasText = true
    const before = text + half
    if (isPiece || !hasPieces) return addText(said)
    if (before.startsWith(said)) return ''
    return addText(said.startsWith(before) ? said.slice(before.length) : said)
  }

  function addChoice(choice: Record<string, unknown>): string {
    const { delta, message, text: completed } = choice
    const reason = saidReason(choice.finish_reason ?? choice.finishReason)
    if (reason !== undefined) finishReason = worseReason(finishReason, reason)
    usage = tokensIn(choice.usage) ?? usage
    const hasDelta = typeof delta === 'string' || (isObject(delta) && Object.keys(delta).length > 0)
    if (hasDelta) {
      hasPieces = true
      return addMessage(delta, true)
    }
    if (message !== undefined) return addMessage(message, false)
    // The protocol's first version, before there were messages.
    return typeof completed === 'string' ? addSaid(completed, true) : ''
  }

  return {
    add(said) {
      if (!isObject(said)) return ''
      const chunk = said as Record<string, unknown>
      if (typeof chunk.model === 'string' && chunk.model !== '')
        model = headOf(chunk.model, maxNameChars).toWellFormed()
      usage = usageIn(chunk) ?? usage
      const choices = choicesOf(chunk)
      if (choices.length > 0) hasChoice = true
      return choices.map(addChoice).join('')
    },

    isWhole: () => finishReason !== undefined,

    finish(start = '') {
      if (!hasChoice) throw withoutReply(start)
      if (finishReason === undefined) {
        throw new IsolaError(
          'model_network',
          'The model service ended its reply before it was complete.',
          { transient: true },
        )
      }
      const told = text + half.toWellFormed()
      const [hasCalls, isEmpty] = [calls.count() > 0, !hasText && calls.count() === 0]
      const reason = finishReasonOf(finishReason, { text: told, isEmpty, hasCalls })
      // Cut off while it still thought, or held back, it says why there is nothing.
      if (isEmpty && reason === 'stop')
        throw new IsolaError(
          'model_empty_reply',
          'The model service answered with neither text nor a call.',
          { transient: true },
        )
      return {
        text: told,
        toolCalls: calls.finish(reason === 'length' || reason === 'content_filter'),
        finishReason: reason,
        usage,
        model,
        opaque: opaque.finish(),
      }
    },
  }
}

const endsInHalf = /[\ud800-\udbff]$/

/**
 * One reply is asked for. Some services write it as several choices of one number, or of none: its text, then its
 * calls. Choices with other numbers are other replies.
 */
function choicesOf({ choices }: Record<string, unknown>): readonly Record<string, unknown>[] {
  if (choices === undefined || choices === null) return []
  if (!isObject(choices)) throw unreadable(`"choices" as ${typeName(choices)}`)
  const list: readonly unknown[] = Array.isArray(choices) ? choices : [choices]
  return list.filter((one): one is Record<string, unknown> => {
    if (!isObject(one)) throw unreadable(`a choice as ${typeName(one)}`)
    const first = list[0]
    return one === first || indexOf(one) === indexOf(first)
  })
}

const indexOf = (choice: unknown): unknown =>
  isObject(choice) && 'index' in choice ? (choice.index ?? undefined) : undefined

/** Where services put what they counted: most say it at the end, Groq in a field of its own. */
function usageIn({ usage, x_groq: groq }: Record<string, unknown>): Tokens | undefined {
  return tokensIn(usage) ?? (isObject(groq) && 'usage' in groq ? tokensIn(groq.usage) : undefined)
}
