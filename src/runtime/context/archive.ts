import type { Compaction, ContextArchive, TokenCounter } from '#contracts/context.ts'
import type { ContextInput } from './types.ts'
import type { Message } from '#contracts/message.ts'
import { wordsOf, sayerOf } from './identifiers.ts'

/** The longest text that is stored in one piece. */
export const maxKeptChars = 250_000
/** With more archives than this, neighbours become one, as long as they fit into one piece. */
const maxArchives = 6
/** The summary names at most so many, and says if there are more. */
export const maxListed = 24

const blank = '\n\n'
const between = blank.length

/** Renders messages as the reader of an archive sees them: whole, in order, each with its place. */
export const render = (messages: readonly Message[], from: number): string =>
  messages.map((message, index) => `#${from + index} ${inner(lineOf(message))}`).join(blank)

/**
 * Puts a space before text that looks like the start of a message: a message begins with its place at the start of a
 * line.
 */
const inner = (text: string): string => text.replace(/([\n\r\u2028\u2029])(?=#\d+ )/g, '$1 ')

function lineOf(message: Message): string {
  switch (message.role) {
    case 'system':
      return `system: ${message.text}`
    case 'user': {
      const images = (message.images ?? []).map(({ url }) => `\n[image: ${bounded(url)}]`)
      return `${sayerOf(message)}: ${message.text}${images.join('')}`
    }
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map(
        ({ id, name, input }) => `\n[calls ${name} as ${id}: ${JSON.stringify(input)}]`,
      )
      return `assistant: ${message.text}${calls.join('')}`
    }
    case 'tool': {
      const what = message.isError ? 'failed' : 'answered'
      return `${message.name} ${what} ${message.callId}: ${wordsOf(message)}`
    }
  }
}

/** An image as a data URL is in the transcript, where it can be seen. */
const bounded = (url: string): string =>
  url.startsWith('data:') ? `${url.slice(0, 40)}… (${url.length} characters)` : url

/** An archive to write: existing archives that it joins, and new messages. */
interface Planned {
  readonly from: number
  readonly to: number
  readonly chars: number
  readonly known: readonly ContextArchive[]
  /** How many messages of it are in none yet. */
  readonly fresh: number
}

/**
 * Stores the messages from the end of the archives up to a place. The smallest neighbours are joined first, so that few
 * handles have to be named and little is written twice.
 * @returns The archives, and how many messages could not be stored.
 */
export async function archive(
  { messages, keep }: Pick<ContextInput, 'messages' | 'keep'>,
  { before, from, to }: { before: readonly ContextArchive[]; from: number; to: number },
): Promise<{ readonly archives: readonly ContextArchive[]; readonly notKept: number }> {
  if (to <= from) return { archives: before, notKept: 0 }
  if (!keep) return { archives: before, notKept: to - from }
  const textOf = (part: Pick<ContextArchive, 'from' | 'to'>) =>
    render(messages.slice(part.from, part.to), part.from)
  const planned: Planned[] = [
    ...before.map((known) => ({ ...known, known: [known], fresh: 0 })),
    ...cutWhole(messages, from, to),
  ]
  while (planned.length > maxArchives) {
    const at = smallestPair(planned)
    const [a, b] = planned.slice(at, at + 2)
    if (!a || !b) break
    planned.splice(at, 2, {
      from: a.from,
      to: b.to,
      chars: a.chars + between + b.chars,
      known: [...a.known, ...b.known],
      fresh: a.fresh + b.fresh,
    })
  }
  const archives: ContextArchive[] = []
  let notKept = 0
  for (const { known, fresh, ...part } of planned) {
    const isThere = fresh === 0 && known.length === 1
    const handles = isThere ? undefined : await keepAll(textOf(part), keep)
    if (handles) archives.push({ from: part.from, to: part.to, handles, chars: part.chars })
    else archives.push(...known)
    if (!handles) notKept += fresh
  }
  return { archives, notKept }
}

/** On average, and rather too many. */
const charsPerToken = 6

/** How many archives there may be once all of it is in some: their handles have to be named. */
export function mostArchives(
  messages: readonly Message[],
  previous: Pick<Compaction, 'archives'> | undefined,
  { ofMessage }: Pick<TokenCounter, 'ofMessage'>,
): number {
  const { archives = [] } = previous ?? {}
  let most = archives.length + 1
  let chars = 0
  for (const message of messages.slice(archives.at(-1)?.to ?? 0)) {
    const own = ofMessage(message) * charsPerToken
    if (chars > 0 && chars + own > maxKeptChars) {
      most += 1
      chars = 0
    }
    chars += own
  }
  return most
}

/** Divides new messages into stretches that fit into one piece each. A search must not meet a message cut in two. */
function cutWhole(messages: readonly Message[], from: number, to: number): readonly Planned[] {
  const parts: Planned[] = []
  for (let at = from; at < to; at += 1) {
    const chars = render(messages.slice(at, at + 1), at).length
    const last = parts.at(-1)
    if (last && last.chars + between + chars <= maxKeptChars)
      parts[parts.length - 1] = {
        ...last,
        to: at + 1,
        chars: last.chars + between + chars,
        fresh: last.fresh + 1,
      }
    else parts.push({ from: at, to: at + 1, chars, known: [], fresh: 1 })
  }
  return parts
}

/** Place of the two neighbours that are the least together; -1 if no two fit into one piece. */
function smallestPair(planned: readonly Planned[]): number {
  const sums = planned
    .slice(1)
    .map(({ chars }, index) => chars + between + (planned[index]?.chars ?? 0))
  const least = Math.min(...sums)
  return least <= maxKeptChars ? sums.indexOf(least) : -1
}

/** Stores a text in as many pieces as it takes; undefined if one of them could not be stored. */
export async function keepAll(
  text: string,
  keep: NonNullable<ContextInput['keep']>,
): Promise<readonly string[] | undefined> {
  const handles: string[] = []
  for (let at = 0; at === 0 || at < text.length;) {
    const end = at + maxKeptChars
    const isInPair = /[\ud800-\udbff]/.test(text.charAt(end - 1))
    const piece = text.slice(at, isInPair ? end - 1 : end)
    const handle = await keep(piece)
    if (handle === undefined) return undefined
    handles.push(handle)
    at += Math.max(1, piece.length)
  }
  return handles
}
