/** The mark that opened a fence. */
interface Opened {
  readonly mark: string
  readonly length: number
  /** Quotes that it stands in, and how far it is moved in by its list. */
  readonly quotes: number
  readonly indent: number
}

/** The most characters of list and quote marks that are read before a line's text. */
const maxMarks = 100

/**
 * Fences of code by the rules of CommonMark 0.31.2: a fence is closed by as many of its own marks or more, with
 * nothing behind them, or ends with the quote or the list that it is in.
 */
export function createFence() {
  let open: Opened | undefined
  /** How far the text of the list is moved in that the lines are of. */
  let listIndent = 0
  return {
    /** Whether the line is within the fence that is open, its last line included. */
    holds(line: string): boolean {
      if (!open) return false
      const { quotes, rest, indent } = unquoted(line, open.quotes)
      const isOutside = quotes < open.quotes || (rest !== '' && indent < open.indent)
      if (isOutside) open = undefined
      else if (indent < open.indent + 4 && isClosing(rest, open)) {
        open = undefined
        return true
      }
      return !isOutside
    },
    /** Whether the line opens one. `isAfterBlank`: no text stands right above it. */
    opens(line: string, isAfterBlank: boolean): boolean {
      const { text, quotes, indent, item } = containersOf(line)
      if (item !== undefined) listIndent = item
      else if (isAfterBlank && indent < listIndent) listIndent = indent < 2 ? 0 : indent
      if (item === undefined && indent > listIndent + 3) return false
      const length = runOf(text)
      if (length < 3 || (text[0] === '`' && text.includes('`', length))) return false
      const own = item ?? (indent >= listIndent ? listIndent : 0)
      open = { mark: text[0]!, length, quotes, indent: quotes > 0 ? 0 : own }
      return true
    },
  }
}

function isClosing(rest: string, { mark, length }: Opened): boolean {
  const run = rest[0] === mark ? runOf(rest) : 0
  return run >= length && run === rest.length
}

/** How many of the same mark of a fence a text begins with. */
function runOf(text: string): number {
  const [mark] = text
  if (mark !== '`' && mark !== '~') return 0
  let length = 1
  while (text[length] === mark) length += 1
  return length
}

/** The line without so many marks of quotes. */
function unquoted(line: string, most: number) {
  let [rest, quotes] = [line, 0]
  while (quotes < most && rest.trimStart().startsWith('>')) {
    rest = rest.trimStart().slice(1)
    quotes += 1
  }
  return { quotes, rest: rest.trim(), indent: widthOf(rest) }
}

/** A line without the marks of quotes and lists before its text. `item`: how far the text of its item is moved in. */
function containersOf(line: string) {
  let [from, quotes, item] = [0, 0, undefined as number | undefined]
  const mark = /[ \t]*(?:(>) ?|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))/y
  for (let count = 0; count < maxMarks; count += 1) {
    mark.lastIndex = from
    const [whole, quote] = mark.exec(line) ?? []
    if (whole === undefined) break
    from += whole.length
    if (quote !== undefined) quotes += 1
    else item = from + widthOf(line.slice(from, from + 4))
  }
  const text = line.slice(from)
  return { text: text.trim(), quotes, indent: widthOf(text), item }
}

/** How far a line is moved in; a tab goes to the next fourth place. */
function widthOf(line: string): number {
  let width = 0
  for (const character of line) {
    if (character === ' ') width += 1
    else if (character === '\t') width += 4 - (width % 4)
    else break
  }
  return width
}
