import { defined } from '#contracts/defined.ts'
import type { ContextInput } from './types.ts'
import type { TokenCounter } from '#contracts/context.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import { keepAll } from './archive.ts'
import { headOf } from '#contracts/cut.ts'
import { wordsOf } from './identifiers.ts'

export type ToolAnswer = Extract<Message, { role: 'tool' }>

/** Below this an answer is hardly longer than what would stand in its place. */
export const minCleared = 150
const stubHeadChars = 160
/** As long as a handle may be, so that a plan made with it still fits once the real handle is in place. */
export const anyHandle = 'ses_'.padEnd(96, '0')

/**
 * The stub in place of an answer, in the form that the output store uses for an answer that was too long from the
 * start.
 */
function stubOf(
  message: ToolAnswer,
  [handle, ...more]: readonly string[],
  headChars: number,
  readTool: string,
): Json {
  const text = textOf(message)
  const note =
    handle === undefined ? 'Call the tool again if you need it.' : `Open it with ${readTool}.`
  return {
    ...defined({ handle }),
    ...(more.length > 0 && { more }),
    // A tool's own field `chars`, as of a page of a stored text, is not the length of its answer.
    chars: (handleOf(message) === undefined ? undefined : charsOf(message)) ?? text.length,
    head: headOf(text, headChars),
    note: `Cleared to make room. ${note}`,
  }
}

/** The tool's answer as the store keeps it: a text as it is, anything else as JSON. */
const textOf = (message: ToolAnswer): string =>
  handleOf(message) === undefined ? wordsOf(message) : String(fieldOf(message, 'head') ?? '')

const fieldOf = ({ output }: ToolAnswer, name: string): Json | undefined =>
  typeof output === 'object' && output !== null && !Array.isArray(output)
    ? (output as JsonObject)[name]
    : undefined

/** All fields of a stub. An answer with other fields is the tool's own and may hold handles of its own. */
const stubFields: ReadonlySet<string> = new Set(['handle', 'more', 'chars', 'head', 'note'])
/**
 * The shape of our handles: session, run and call. A tool may answer any text, so a handle of another shape is not
 * opened or named.
 */
const ourHandle = /^ses_\w+\.\w+\.[\w-]+$/

/** The handle of an answer that was too long from the start: the transcript has only its beginning. */
export function handleOf(message: ToolAnswer): string | undefined {
  const handle = fieldOf(message, 'handle')
  if (typeof handle !== 'string' || charsOf(message) === undefined) return undefined
  if (handle.length > anyHandle.length || !ourHandle.test(handle)) return undefined
  return Object.keys(Object(message.output)).every((name) => stubFields.has(name))
    ? handle
    : undefined
}

function charsOf(message: ToolAnswer): number | undefined {
  const chars = fieldOf(message, 'chars')
  return typeof chars === 'number' ? chars : undefined
}

/** A stand-in for planning: the stub before its handle exists. */
export const planned = (
  message: ToolAnswer,
  readTool: string,
  headChars = stubHeadChars,
): ToolAnswer => ({
  ...message,
  output: stubOf(message, [handleOf(message) ?? anyHandle], headChars, readTool),
})

/**
 * Keeps an answer and puts a handle in its place; where no reader could open a handle, only the beginning of the answer
 * stays.
 *
 * @returns Undefined if there was no room to keep it.
 */
export async function clear(
  message: ToolAnswer,
  keep: ContextInput['keep'],
  readTool: string,
  headChars = stubHeadChars,
): Promise<ToolAnswer | undefined> {
  const known = handleOf(message)
  const kept = () => (keep ? keepAll(textOf(message), keep) : [])
  const handles = known ? [known] : await kept()
  return handles && { ...message, output: stubOf(message, handles, headChars, readTool) }
}

/** How many characters of each fresh answer fit into so many tokens: small answers whole, large ones alike. */
export function fairHeads(
  answers: readonly ToolAnswer[],
  maxTokens: number,
  { ofMessage, ofText }: TokenCounter,
  readTool: string,
): ReadonlyMap<ToolAnswer, number> {
  const heads = new Map<ToolAnswer, number>()
  let left = maxTokens
  const bySize = [...answers].sort((a, b) => ofMessage(a) - ofMessage(b))
  bySize.forEach((answer, index) => {
    const share = left / (bySize.length - index)
    if (ofMessage(answer) <= share || ofMessage(answer) < minCleared) {
      left -= ofMessage(answer)
      return
    }
    const text = textOf(answer)
    const perToken = text.length / Math.max(1, ofText(text))
    let chars = Math.max(stubHeadChars, Math.floor(share * perToken))
    const cost = () => ofMessage(planned(answer, readTool, chars))
    while (chars > stubHeadChars && cost() > share)
      chars = Math.max(stubHeadChars, Math.floor(chars * 0.8))
    heads.set(answer, chars)
    left -= cost()
  })
  return heads
}
