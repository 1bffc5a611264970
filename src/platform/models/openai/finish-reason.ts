import { headOf } from '#contracts/cut.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { ModelReply } from '#contracts/model.ts'
import { toVisible } from '#contracts/visible-text.ts'

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
 * Why a reply is over, as its service spells it; `undefined` if it has not said so. A service may send it anew with each
 * piece, and empty until the last one.
 */
export function saidReason(said: unknown): string | undefined {
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
export const worseReason = (before: string | undefined, next: string): string =>
  before !== undefined && rankOf(before) > rankOf(next) ? before : next

/**
 * The meaning of a reason. Throws `model_unavailable` for a failure, and `model_invalid_reply` for an unknown reason
 * (it is a limit, a filter or a failure, and never a normal end) and for a reason that announces a missing call.
 *
 * @param came What came with it. Nothing at all ends as nothing does, whatever was announced.
 */
export function finishReasonOf(
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
    const message = `The model service ended its reply for a call (finish_reason "${shown}") and sent none: it is not taken for a complete one.`
    throw new IsolaError('model_invalid_reply', message, { detail })
  }
  const message = `The model service ended its reply with a reason that is not known here (finish_reason "${shown}"): it is not taken for a complete one.`
  throw new IsolaError('model_invalid_reply', message, { detail })
}

interface Came {
  /** An operator reads its beginning. */
  readonly text: string
  /** There is neither a text nor a call, be it an empty one. */
  readonly isEmpty: boolean
  readonly hasCalls: boolean
}
