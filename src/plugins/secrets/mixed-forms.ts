import { IsolaError } from '#contracts/errors.ts'
import { base64Forms, toBinary } from './value-forms.ts'

/** Where something stands in a text. */
export type Span = readonly [from: number, to: number]

/**
 * Where a value stands in a text (a character a byte) whose writer escaped some of its characters and not others, or
 * each in another way: `%6B`, `\u006b`, `&#107;`, `&#x6b;`, a backslash before it. What escapes all of them by one rule
 * is in `formsOf`.
 */
export function mixedSpans(binary: string, value: string): readonly Span[] {
  if (value === '' || !/[%\\&]/.test(binary)) return []
  const letters = Array.from(value, lettersOf)
  const spans: Span[] = []
  const work = { left: maxLetters(binary) }
  for (let at = 0; at < binary.length; at += 1) {
    const to = endOf(binary, at, { letters, work })
    if (to === undefined) continue
    spans.push([at, to])
    at = to - 1
  }
  return spans
}

/** Who sends a text may know the value, and even have made it: one that repeats itself costs its length at each place. */
const maxLetters = (text: string): number => 100_000 + 20 * text.length

/** One character of a value, in the ways in which it may be written. */
interface Letter {
  readonly plain: string
  readonly code: number
  /** Hex of its UTF-8. */
  readonly percent: string
  /** Hex of its UTF-16. */
  readonly unicode: string
  readonly names: readonly string[]
}

const names: Readonly<Record<string, readonly string[]>> = {
  '&': ['&amp;'],
  '<': ['&lt;'],
  '>': ['&gt;'],
  '"': ['&quot;'],
  "'": ['&apos;'],
  ' ': ['+'],
}

function lettersOf(char: string): Letter {
  const plain = toBinary(char)
  const hex = (number: number, digits: number) => number.toString(16).padStart(digits, '0')
  const units = Array.from({ length: char.length }, (_, at) => hex(char.charCodeAt(at), 4))
  return {
    plain,
    code: char.codePointAt(0) ?? 0,
    percent: Array.from(plain, (byte) => `%${hex(byte.charCodeAt(0), 2)}`).join(''),
    unicode: units.map((unit) => `u${unit}`).join(''),
    names: names[char] ?? [],
  }
}

interface Search {
  readonly letters: readonly Letter[]
  readonly work: { left: number }
}

/** Throws `tool_failed` when it is too much work: what cannot be looked through is not handed on. */
function endOf(text: string, from: number, { letters, work }: Search): number | undefined {
  let at: number | undefined = from
  for (const letter of letters) {
    work.left -= 1
    if (work.left < 0)
      throw new IsolaError('tool_failed', 'The answer cannot be searched for secrets.')
    at = afterLetter(text, at, letter)
    if (at === undefined) return undefined
  }
  return at
}

/** Written any other way first: what is escaped begins with a character that may stand for itself. */
function afterLetter(text: string, at: number, letter: Letter): number | undefined {
  const { plain, percent, names: named } = letter
  const first = text[at]
  if (first === '%' && isAt(text, at, percent)) return at + percent.length
  const after =
    first === '\\'
      ? afterEscape(text, at, letter)
      : first === '&'
        ? afterEntity(text, at, letter)
        : undefined
  if (after !== undefined) return after
  const name = named.find((one) => text.startsWith(one, at))
  if (name !== undefined) return at + name.length
  return text.startsWith(plain, at) ? at + plain.length : undefined
}

const isAt = (text: string, at: number, lowerHex: string) =>
  text.slice(at, at + lowerHex.length).toLowerCase() === lowerHex

/** JSON within JSON doubles the backslashes. */
const maxBackslashes = 8

function afterEscape(text: string, at: number, { plain, unicode }: Letter): number | undefined {
  let to = at
  for (const unit of unicode.match(/u[0-9a-f]{4}/g) ?? []) {
    const start = afterBackslashes(text, to)
    if (start === to || !isAt(text, start, unit)) {
      const char = afterBackslashes(text, at)
      return plain !== '\\' && text.startsWith(plain, char) ? char + plain.length : undefined
    }
    to = start + unit.length
  }
  return to
}

function afterBackslashes(text: string, at: number): number {
  let to = at
  while (to - at < maxBackslashes && text[to] === '\\') to += 1
  return to
}

/** Leading zeros and a missing semicolon are taken by every reader. */
function afterEntity(text: string, at: number, { code }: Letter): number | undefined {
  const written = /^&#(?:[xX]0{0,8}([0-9a-fA-F]{1,6})|0{0,8}(\d{1,7}));?/.exec(
    text.slice(at, at + 20),
  )
  if (!written) return undefined
  const [all, hex, decimal] = written
  const found = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return found === code ? at + all.length : undefined
}

/** Base64 that was broken into lines, as mail and certificates have it, also inside JSON. */
export function brokenBase64Spans(binary: string, value: string): readonly Span[] {
  const forms = base64Forms(toBinary(value))
  if (forms.length === 0 || !/[\r\n\\]/.test(binary)) return []
  const { joined, places } = withoutBreaks(binary)
  return forms.flatMap((form) => {
    const spans: Span[] = []
    for (let at = joined.indexOf(form); at >= 0; at = joined.indexOf(form, at + form.length))
      spans.push([places[at] ?? 0, (places[at + form.length - 1] ?? 0) + 1])
    return spans
  })
}

function withoutBreaks(binary: string): { readonly joined: string; readonly places: Uint32Array } {
  const places = new Uint32Array(binary.length)
  let joined = ''
  let from = 0
  const keep = (to: number) => {
    for (let at = from; at < to; at += 1) places[joined.length + at - from] = at
    joined += binary.slice(from, to)
  }
  for (const { index, 0: gap } of binary.matchAll(/(?:[\r\n\t ]|\\{1,8}[rnt])+/g)) {
    keep(index)
    from = index + gap.length
  }
  keep(binary.length)
  return { joined, places }
}
