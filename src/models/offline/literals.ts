import type { Json } from '#contracts/json.ts'
import { parseJson } from './schema-shape.ts'

/** A piece of a message that is to be taken as it is: no splitting, no searching in it. */
export interface Literal {
  readonly kind: 'block' | 'quote' | 'code' | 'json' | 'url'
  /** What is meant, without its marks. */
  readonly text: string
  /** As it stood in the message. */
  readonly raw: string
  readonly value?: Json
}

/** A message whose literals stand as one private-use character each. */
export interface Masked {
  readonly text: string
  readonly literals: readonly Literal[]
}

const firstMark = 0xe000
const maxLiterals = 500
const anyMark = /[\ue000-\uf8ff]/g

/** Sticky, each stops at its own opening mark again: together they stay linear on unclosed marks. */
const quotePatterns: Readonly<Record<string, RegExp>> = {
  '"': /"([^"]{0,4000})"/y,
  '“': /“([^“”]{0,4000})”/y,
  '«': /«([^«»]{0,4000})»/y,
  "'": /'([^'\n]{1,400})'(?![\p{L}\p{N}])/uy,
  '`': /`([^`]{1,4000})`/y,
}
const urlPattern = /https?:\/\/[^\s<>"'`\ue000-\uf8ff]+/iy
/** How a caller's material is set apart from a sub-agent's task: a line of its own between dashes. */
const blockStart = /--- [^\n]{1,200} ---\n/y
const blockEnd = '\n--- End'

/** Replaces fences, quotes, JSON and URLs by marks, in linear time. */
export function maskLiterals(message: string): Masked {
  const source = message.replace(anyMark, ' ')
  const closing = matchBrackets(source)
  const literals: Literal[] = []
  let text = ''
  let at = 0
  let copiedTo = 0
  let noJsonBefore = 0
  while (at < source.length && literals.length < maxLiterals) {
    const isBracket = (source[at] === '{' || source[at] === '[') && at >= noJsonBefore
    const end = isBracket ? closing.get(at) : undefined
    const literal = end === undefined ? literalAt(source, at) : jsonOf(source.slice(at, end + 1))
    // Brackets that are not JSON are not tried again from the inside: that would be quadratic.
    if (!literal && end !== undefined) noJsonBefore = end + 1
    if (!literal || literal.raw === '') {
      at += 1
      continue
    }
    text += source.slice(copiedTo, at) + String.fromCharCode(firstMark + literals.length)
    literals.push(literal)
    at += literal.raw.length
    copiedTo = at
  }
  return { text: text + source.slice(copiedTo), literals }
}

/** Puts the literals back, each as `show` gives it. */
export function unmask(
  text: string,
  literals: readonly Literal[],
  show: (literal: Literal) => string,
): string {
  return text.replace(anyMark, (mark) => {
    const literal = literals[mark.charCodeAt(0) - firstMark]
    return literal ? show(literal) : ''
  })
}

/** The literals a masked text mentions, in order. */
export function literalsIn(text: string, literals: readonly Literal[]): readonly Literal[] {
  return Array.from(
    text.matchAll(anyMark),
    ([mark]) => literals[mark.charCodeAt(0) - firstMark],
  ).filter((literal) => literal !== undefined)
}

function literalAt(source: string, at: number): Literal | undefined {
  const letter = source[at] ?? ''
  const isLineStart = at === 0 || source[at - 1] === '\n'
  if (letter === '`' && source.startsWith('```', at)) return fenceAt(source, at)
  if (letter === '-' && isLineStart) return blockAt(source, at)
  if (letter === 'h' || letter === 'H') return urlAt(source, at)
  const pattern = quotePatterns[letter]
  if (!pattern) return undefined
  pattern.lastIndex = at
  const found = pattern.exec(source)
  // After a letter or digit an apostrophe or an inch mark opens nothing, at least no text of several lines.
  const isAfterWord = /[\p{L}\p{N}]/u.test(source[at - 1] ?? '')
  return found && !(isAfterWord && (letter === "'" || found[0].includes('\n')))
    ? { kind: letter === '`' ? 'code' : 'quote', text: found[1] ?? '', raw: found[0] }
    : undefined
}

function fenceAt(source: string, at: number): Literal {
  const firstLine = source.indexOf('\n', at)
  const close = source.indexOf('```', at + 3)
  const end = close < 0 ? source.length : close
  const from = firstLine < 0 || firstLine > end ? at + 3 : firstLine + 1
  return {
    kind: 'block',
    text: source.slice(from, end).trimEnd(),
    raw: source.slice(at, close < 0 ? end : end + 3),
  }
}

function blockAt(source: string, at: number): Literal | undefined {
  blockStart.lastIndex = at
  const head = blockStart.exec(source)
  if (!head) return undefined
  const from = at + head[0].length
  const close = source.indexOf(blockEnd, from - 1)
  const end = close < 0 ? source.length : close
  const lineEnd = close < 0 ? source.length : source.indexOf('\n', close + 1)
  return {
    kind: 'block',
    text: source.slice(from, end),
    raw: source.slice(at, lineEnd < 0 ? source.length : lineEnd),
  }
}

function urlAt(source: string, at: number): Literal | undefined {
  urlPattern.lastIndex = at
  const found = urlPattern.exec(source)?.[0]
  if (found === undefined) return undefined
  let end = found.length
  while (end > 0 && '.,;:!?)]}'.includes(found[end - 1] ?? ' ')) end -= 1
  const raw = found.slice(0, end)
  return URL.canParse(raw) ? { kind: 'url', text: raw, raw } : undefined
}

function jsonOf(raw: string): Literal | undefined {
  const value = parseJson(raw)
  return value === undefined ? undefined : { kind: 'json', text: raw, raw, value }
}

/** Where each outermost bracket closes; quotes inside brackets are respected. */
function matchBrackets(source: string): ReadonlyMap<number, number> {
  const closing = new Map<number, number>()
  const open: { readonly at: number; readonly close: string }[] = []
  let inString = false
  for (let at = 0; at < source.length; at += 1) {
    const letter = source[at]
    if (inString) {
      if (letter === '\\') at += 1
      else if (letter === '"' || letter === '\n') inString = false
    } else if (letter === '"' && open.length > 0) inString = true
    else if (letter === '{') open.push({ at, close: '}' })
    else if (letter === '[') open.push({ at, close: ']' })
    else if (letter === open.at(-1)?.close) {
      const start = open.pop()
      if (start) closing.set(start.at, at)
    }
  }
  return closing
}
