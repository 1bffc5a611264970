import type { Message } from '#contracts/message.ts'
import { isSummary, sayerOf, summaryHeading, wordsOf } from './identifiers.ts'
import type { ContextArchive, NamedId } from '#contracts/context.ts'
import { maxListed } from './archive.ts'
import { anyHandle, handleOf } from './clear.ts'
import { bothEnds } from './types.ts'
import { headOf, tailOf } from '#contracts/cut.ts'

/** The contents of summaries among the messages. If a client stores its own transcript, only its summary has them. */
interface EarlierSummary {
  /** Lines under a title, the newest first. */
  readonly under: (title: string) => readonly string[]
  /** Paragraphs that a model wrote, the newest summary's first. */
  readonly prose: readonly string[]
}

/** @param titles The titles of the sections by rule. A section without a title is prose. */
function readEarlier(messages: readonly Message[], titles: readonly string[]): EarlierSummary {
  const lines = new Map<string, string[]>()
  const prose: string[] = []
  for (const message of messages.toReversed()) {
    if (message.role !== 'user' || !isSummary(message)) continue
    const [, ...parts] = message.text.split('\n\n')
    for (const part of parts) {
      const [title = '', ...own] = part.split('\n')
      if (titles.includes(title)) lines.set(title, [...(lines.get(title) ?? []), ...own.reverse()])
      else prose.push(part)
    }
  }
  return { under: (title) => lines.get(title) ?? [], prose }
}

/** The material of a summary. */
export interface Gone {
  /** The messages that are no longer sent, in order. */
  readonly messages: readonly Message[]
  /** Those among them that answer calls which a principal decided. */
  readonly decisions: ReadonlySet<Message>
  /** Those among them that belong to failed runs. */
  readonly leftOvers: ReadonlySet<Message>
  readonly ids: readonly NamedId[]
  readonly archives: readonly ContextArchive[]
}

/** Lines in the order in which they are wanted, and the share of the room that they may have first. */
interface Section {
  readonly title: string
  readonly lines: readonly string[]
  readonly share: number
  /** The lines are chosen newest first and written oldest first. */
  readonly isNewestFirst: boolean
}

export interface RuleSummary {
  readonly text: string
  /** How many of the identifiers are in it. */
  readonly ids: number
  readonly hasAllArchives: boolean
}

/**
 * A summary by rule: the user's sentences, decisions, announcements, identifiers and calls, as much of each as fits,
 * and where to read all of it. A model's prose may come first.
 */
export function ruleSummary(
  gone: Gone,
  options: {
    readonly maxTokens: number
    readonly ofText: (text: string) => number
    readonly readTool: string
    readonly prose?: string
  },
): RuleSummary {
  const { maxTokens, ofText, readTool, prose } = options
  const where = whereabouts(gone.archives, readTool)
  const head = [summaryHeading, ...(prose ? [prose] : [])].join('\n\n')
  const sections = sectionsOf(gone)
  let left = maxTokens - ofText(head) - ofText(where) - 8
  const chosen = sections.map(() => new Set<string>())
  /** Each section first gets its share; then the sections divide the rest, in their order. */
  for (const round of ['share', 'rest'] as const) {
    const whole = left
    sections.forEach(({ title, lines, share }, index) => {
      const mine = chosen[index]
      let allowed = round === 'share' ? Math.min(left, whole * share) : left
      for (const line of lines) {
        if (allowed < leastLine) break
        if (!mine || mine.has(line)) continue
        const cost = ofText(line) + 1 + (mine.size === 0 ? ofText(title) + 2 : 0)
        if (cost > allowed) continue
        mine.add(line)
        allowed -= cost
        left -= cost
      }
    })
  }
  const parts = sections.flatMap(({ title, lines, isNewestFirst }, index) => {
    const mine = lines.filter((line) => chosen[index]?.has(line))
    const ordered = isNewestFirst ? mine.toReversed() : mine
    return mine.length === 0 ? [] : [[title, ...ordered].join('\n')]
  })
  const text = [head, ...parts, where].filter((part) => part !== '').join('\n\n')
  // Counted whole it may be a little more than its lines were.
  const over = ofText(text) - maxTokens
  if (over > 0 && parts.length > 0)
    return ruleSummary(gone, { ...options, maxTokens: maxTokens - over - 8 })
  return {
    text,
    ids: chosen[identifiers]?.size ?? 0,
    hasAllArchives: gone.archives.length <= maxListed,
  }
}

/** The shortest that it can be. */
export const leastSummaryOf = (
  archives: number,
  ofText: (text: string) => number,
  readTool: string,
): number => {
  const handles = [anyHandle]
  const all = Array.from({ length: archives }, () => ({ from: 1e5, to: 1e5, handles, chars: 0 }))
  return ofText(summaryHeading) + ofText(whereabouts(all, readTool)) + 24
}

function whereabouts(archives: readonly ContextArchive[], readTool: string): string {
  if (archives.length === 0) return ''
  const lines = archives
    .slice(-maxListed)
    .map(({ from, to, handles }) => `- #${from} to #${to - 1}: ${handles.join(' ')}`)
  return [`Everything that was said, word for word, for ${readTool}:`, ...lines].join('\n')
}

/** Their place in the list. */
const identifiers = 3
const notesTitle = 'Notes so far:'
/** No line is shorter, in tokens. */
const leastLine = 4

/** Adds the lines of earlier summaries among the messages. */
function sectionsOf(gone: Gone): readonly Section[] {
  const own = ownSections(gone)
  const titles = [...own.map(({ title }) => title), notesTitle]
  const { under, prose } = readEarlier(gone.messages, titles)
  const notes: Section = {
    title: notesTitle,
    lines: [...under(notesTitle), ...prose.map((part) => `- ${flat(part, 700)}`)],
    share: 0.2,
    isNewestFirst: false,
  }
  return [
    ...own.map((section) =>
      // Identifiers are found again in its text.
      section.isNewestFirst
        ? { ...section, lines: [...new Set([...section.lines, ...under(section.title)])] }
        : section,
    ),
    notes,
  ]
}

function ownSections(gone: Gone): readonly Section[] {
  const newest = gone.messages.toReversed()
  const calls = callsOf(gone.messages)
  const lines = (lineOf: (message: Message, index: number) => string | undefined) =>
    firstLines(newest, lineOf)
  return [
    {
      title: 'Said last by the assistant:',
      lines: lines(announced),
      share: 0.2,
      isNewestFirst: true,
    },
    {
      title: 'Decisions and answers:',
      lines: lines((message) =>
        gone.decisions.has(message) ? decided(message, calls) : undefined,
      ),
      share: 0.2,
      isNewestFirst: true,
    },
    {
      title: 'The user said:',
      // Messages of failed runs come last: the user repeated them, or gave them up.
      lines: firstLines(
        [...newest].sort((a, b) => Number(gone.leftOvers.has(a)) - Number(gone.leftOvers.has(b))),
        said,
      ),
      share: 0.3,
      isNewestFirst: true,
    },
    {
      title: 'Identifiers, and who named them:',
      lines: gone.ids.map(({ id, source }) => `- ${id} (${source})`),
      share: 0.2,
      isNewestFirst: false,
    },
    { title: 'Long results:', lines: lines(longResult), share: 0.05, isNewestFirst: true },
    {
      title: 'Calls made:',
      lines: lines((message) => called(message, calls)),
      share: 0.05,
      isNewestFirst: true,
    },
  ]
}

/** More than would fit into any summary are not even made. */
const maxLines = 80

function firstLines(
  newest: readonly Message[],
  lineOf: (message: Message, index: number) => string | undefined,
): readonly string[] {
  const lines = new Set<string>()
  for (const [index, message] of newest.entries()) {
    const line = lineOf(message, index)
    if (line !== undefined) lines.add(line)
    if (lines.size === maxLines) break
  }
  return [...lines]
}

type Calls = ReadonlyMap<Message, string>

/** The call of each answer. */
function callsOf(messages: readonly Message[]): Calls {
  const open = new Map<string, string>()
  const calls = new Map<Message, string>()
  for (const message of messages) {
    if (message.role === 'assistant')
      for (const { id, input } of message.toolCalls ?? []) open.set(id, JSON.stringify(input))
    const input = message.role === 'tool' && open.get(message.callId)
    if (input) calls.set(message, input)
  }
  return calls
}

const flat = (text: string, maxChars: number): string =>
  bothEnds(text.replace(/\s+/g, ' ').trim(), maxChars)

/** Quotes more of the newest announcements than of older ones. Their end is kept: it says what comes next. */
function announced(message: Message, index: number): string | undefined {
  if (message.role !== 'assistant' || message.text.trim() === '') return undefined
  const text = message.text.replace(/\s+/g, ' ').trim()
  const most = index < 4 ? 700 : 240
  if (text.length <= most) return `- ${text}`
  return `- ${headOf(text, most / 4)} … ${tailOf(text, (most * 3) / 4)}`
}

const said = (message: Message): string | undefined =>
  message.role === 'user' && sayerOf(message) === 'user'
    ? `- ${flat(message.text, 400)}`
    : undefined

const decided = (message: Message, calls: Calls): string | undefined =>
  message.role === 'tool'
    ? `- ${message.name} ${flat(calls.get(message) ?? '', 160)} → ${flat(wordsOf(message), 240)}`
    : undefined

function longResult(message: Message): string | undefined {
  const handle = message.role === 'tool' ? handleOf(message) : undefined
  return message.role === 'tool' && handle ? `- ${message.name}: ${handle}` : undefined
}

/** A call with its answer, if that is short. Background work has no other answer. */
function called(message: Message, calls: Calls): string | undefined {
  const sayer = sayerOf(message)
  if (message.role === 'user' && !['user', 'summary'].includes(sayer))
    return `- ${sayer} in the background → ${flat(message.text, 240)}`
  if (message.role !== 'tool') return undefined
  const answer = wordsOf(message)
  const outcome = answer.length <= 120 ? flat(answer, 120) : message.isError ? 'failed' : 'answered'
  return `- ${message.name} ${flat(calls.get(message) ?? '', 120)} → ${outcome}`
}
