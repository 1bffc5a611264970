import type { ForgottenText } from './types/session-api.ts'
import { IsolaError } from '#contracts/errors.ts'
import { refuseAtWork } from './storage/refusals.ts'
import type { SessionAccess } from './session-parts.ts'

/** Replaces a forgotten text. */
const gone = '[forgotten]'
/** Words in a row that identify a text. */
const inARow = 5
/** A shorter text is common: it is removed only where it is the whole text. */
const leastChars = 8

/** The words of a text in their order; an escaped line end of JSON is no part of a word. */
const wordsIn = (text: string) =>
  [...text.matchAll(/\\[nrt]|[\p{L}\p{N}]+/gu)]
    .filter(([word]) => !word.startsWith('\\'))
    .map((match) => ({
      word: match[0].toLowerCase(),
      from: match.index,
      to: match.index + match[0].length,
    }))

/**
 * Removes texts from other texts, also if they were cut or have other line breaks: every five words in a row of a
 * longer text, all words together of a shorter one.
 */
export function createWithoutWords(texts: readonly ForgottenText[]): (text: string) => string {
  const rows = new Map<string, number>()
  const short: string[] = []
  const whole = new Set<string>()
  for (const text of texts) {
    if (typeof text === 'object') {
      whole.add(text.whole.trim())
      continue
    }
    const words = wordsIn(text).map(({ word }) => word)
    const most = Math.min(inARow, words.length)
    if (most < 3) short.push(text.trim())
    else
      for (let at = 0; at + most <= words.length; at += 1)
        rows.set(words.slice(at, at + most).join(' '), most)
  }
  const lengths = [...new Set(rows.values())]
  return (text) => {
    if (whole.has(text.trim())) return gone
    let left = text
    for (const one of short)
      if (one !== '' && (one.length >= leastChars || text.trim() === one))
        left = left.replaceAll(one, gone)
    if (lengths.length === 0) return left
    const words = wordsIn(left)
    const isGone = new Set<number>()
    for (const most of lengths)
      for (let at = 0; at + most <= words.length; at += 1) {
        const row = words.slice(at, at + most).map(({ word }) => word)
        if (rows.get(row.join(' ')) === most) row.forEach((_, of) => isGone.add(at + of))
      }
    // From the end, so that earlier places stay valid.
    for (let at = words.length - 1; at >= 0; at -= 1) {
      if (!isGone.has(at)) continue
      const { to } = words[at]!
      while (isGone.has(at - 1)) at -= 1
      left = left.slice(0, words[at]!.from) + gone + left.slice(to)
    }
    return left
  }
}

/** Removes texts from a session that were deleted elsewhere. */
export function createForgetting(access: SessionAccess) {
  const { current, own } = access
  return {
    /**
     * Removes texts wherever the session quotes them: in tool results, reminders, the model's words, and values behind
     * handles. The owner's own messages stay. Summaries of the conversation go whole, since they may say the same in
     * other words: the next run makes a new one. Throws `request_conflict` while a run is not over.
     *
     * `agent`: removes the pins of the session's own agent, whose maker is erased: its name, instructions and options.
     * The agent is gone, so no run goes on with it; a parked run may stay parked.
     *
     * @returns The number of changed rows.
     */
    forgetTexts(
      principal: string,
      texts: readonly ForgottenText[] | 'agent',
    ): { readonly changed: number } {
      own(principal)
      const { store, transcript, runs } = current.parts
      if (texts === 'agent') {
        if (runs.isIdle()) return { changed: store.rewrite([withoutPin]) }
        throw new IsolaError('request_conflict', 'A run works here: it is asked again.')
      }
      refuseAtWork(current.parts)
      const without = createWithoutWords(texts)
      const changed = store.rewrite([(value) => mapped(value, without), withoutSummaries])
      transcript.forget()
      return { changed }
    },
  }
}

/** Removes the agent of a pin; its hash and place stay. */
function withoutPin(value: unknown): unknown {
  const { pin } = Object(value) as { readonly pin?: { readonly agent?: unknown } }
  if (pin?.agent === undefined) return value
  const { agent: _gone, ...rest } = pin
  return { ...(value as object), pin: rest }
}

type Fields = Readonly<Record<string, unknown>>

/** Reminders and outcomes have the user's role, too, but another taint. */
const isTyped = ({ role, taint }: Fields): boolean =>
  role === 'user' && Array.isArray(taint) && taint.every((one) => one === 'user')

function mapped(value: unknown, without: (text: string) => string): unknown {
  if (typeof value === 'string') return without(value)
  if (Array.isArray(value)) return value.map((one) => mapped(one, without))
  if (typeof value !== 'object' || value === null || isTyped(value as Fields)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      isStructure(name, one, value as Fields) ? one : mapped(one, without),
    ]),
  )
}

/** Fields whose value is a word of ours, an id or a time: readers of the rows need them. */
const structural = new RegExp(
  '^(id|.*Id|state|type|role|code|kind|status|run|session|agent|principal|trace|call|tool|provider|model|' +
    'finishReason|outcome|taint|.*Hash|echo|echoes)$',
)
const isOneWord = (value: unknown): boolean =>
  typeof value === 'string' && /^[\w.:/-]+$/.test(value)

/** `name` is the name of a tool in a call, and of a person elsewhere. */
const isStructure = (name: string, value: unknown, { input }: Fields): boolean =>
  (structural.test(name) || (name === 'name' && input !== undefined)) &&
  (isOneWord(value) || (Array.isArray(value) && value.every(isOneWord)))

function withoutSummaries(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('compactions' in value)) return value
  const { compactions: _gone, ...turn } = value
  return turn
}
