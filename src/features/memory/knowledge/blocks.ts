import { IsolaError } from '#contracts/errors.ts'
import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { maxParts } from '../types.ts'
import type { PassageSpot } from '#features/record/types/knowledge.ts'
import { createFence } from './fence.ts'

/** Counts what a document is made of, and stops its reader at a limit that the error names. */
interface Count {
  /** Throws `request_invalid`. */
  readonly add: () => void
}

/** At most so many of what a field has. */
export function createCount(param: string, most: number, what: string): Count {
  let count = 0
  return {
    add(): void {
      count += 1
      if (count <= most) return
      const message = `${param}: has more than ${most.toLocaleString('en')} ${what}: send it in parts.`
      throw new IsolaError('request_invalid', message, { param })
    },
  }
}

/** A line of a text, without its line end. */
interface Line {
  readonly line: string
  /** From 0. */
  readonly at: number
  /** Where it begins in the text, in characters. */
  readonly from: number
}

/** The lines one by one: a long text is never held twice. */
function* linesOf(text: string): Generator<Line> {
  const ends = /\r\n?|\n/g
  let [at, from] = [0, 0]
  for (let end = ends.exec(text); end; end = ends.exec(text)) {
    yield { line: text.slice(from, end.index), at, from }
    from = ends.lastIndex
    at += 1
  }
  yield { line: text.slice(from), at, from }
}

/** Whether a line is the row below a table's header (`| --- | :-: |`), also within a quote. */
const isDelimiterRow = (line: string): boolean =>
  /^[>|:\- \t]+$/.test(line) &&
  line.includes('|') &&
  cellsOf(line).every((cell) => /^:?-+:?$/.test(cell.trim()))

/** The number of cells of a row. */
const columnsOf = (line: string): number => cellsOf(line).length

/** The texts between the pipes of a row; an escaped pipe is text. */
function cellsOf(line: string): readonly string[] {
  const row = line
    .replace(/^[> \t]*/, '')
    .trimEnd()
    .replaceAll('\\|', '\\ ')
  const from = row.startsWith('|') ? 1 : 0
  return row.slice(from, row.length > 1 && row.endsWith('|') ? -1 : undefined).split('|')
}

/** A paragraph, list, table or piece of code, with where it is. */
export interface Block extends PassageSpot {
  readonly text: string
  /** The header row above these rows of a table: each passage that has some of them begins with it. */
  readonly header?: string
}

/** The blocks of a document, in their order. */
export interface ReadBlocks {
  readonly title?: string
  readonly blocks: readonly Block[]
}

/** Lets others be answered; a reader waits for it after each slice of a text. */
export type GiveWay = () => Promise<void>

const sliceChars = 32 * 1024
const maxHeadingChars = 200
/** A longer header is repeated in part. */
const maxHeaderChars = 800

/** Headings above a block, as they come: one takes away those of its own depth and deeper. */
export function createHeadings() {
  let open: readonly { readonly depth: number; readonly text: string }[] = []
  return {
    enter(depth: number, text: string): void {
      const shown = text.slice(0, maxHeadingChars).toWellFormed()
      open = [...open.filter((one) => one.depth < depth), { depth, text: shown }]
    },
    now: (): Pick<Block, 'headings'> =>
      open.length === 0 ? {} : { headings: open.map(({ text }) => text) },
  }
}

/** The header as the passages of a table repeat it. `before`: the whole of it, if that is longer. */
export const repeatedHeader = (
  header: string,
): { readonly header: string; readonly before?: string } =>
  header.length <= maxHeaderChars
    ? { header }
    : { header: headOf(header, maxHeaderChars), before: header }

/** Paragraphs between blank lines. */
export const textBlocks = async (text: string, pause: GiveWay): Promise<ReadBlocks> => ({
  blocks: (await readLines(text, { isMarkdown: false, pause, count: countOf('text') })).blocks,
})

/** Blocks of Markdown under their headings; front matter and comments are left out, and a fence is one block. */
export async function markdownBlocks(text: string, pause: GiveWay): Promise<ReadBlocks> {
  const { blocks, titles } = await readLines(text, {
    isMarkdown: true,
    pause,
    count: countOf('text'),
  })
  return { ...defined({ title: titles[0] }), blocks }
}

/** Each page has blocks of its own. */
export async function pageBlocks(pages: readonly string[], pause: GiveWay): Promise<ReadBlocks> {
  const read: ReadBlocks[] = []
  const reading = { isMarkdown: false, pause, count: countOf('pages') }
  for (const page of pages) read.push(await readLines(page, reading))
  return {
    blocks: read.flatMap(({ blocks }, at) =>
      blocks.map(({ line: _line, ...block }) => ({ ...block, page: at + 1 })),
    ),
  }
}

interface Reading {
  readonly isMarkdown: boolean
  readonly pause: GiveWay
  readonly count: Count
}

const countOf = (param: string): Count =>
  createCount(param, maxParts, 'blocks (paragraphs, headings, rows of tables)')

async function readLines(text: string, { isMarkdown, pause, count }: Reading) {
  const reader = createLineReader({ isMarkdown, count, lastCommentEnd: text.lastIndexOf('-->') })
  const skipped = isMarkdown ? frontMatterLines(text) : 0
  let readChars = 0
  for (const { line, at, from } of linesOf(text)) {
    if (at >= skipped) reader.add(line, at, from)
    if (from - readChars < sliceChars) continue
    readChars = from
    await pause()
  }
  return reader.end()
}

/** Reads line by line; each costs as much as it is long. */
function createLineReader({
  isMarkdown,
  count,
  lastCommentEnd,
}: Pick<Reading, 'isMarkdown' | 'count'> & { readonly lastCommentEnd: number }) {
  const headings = createHeadings()
  const fence = createFence()
  const titles: string[] = []
  const blocks: Block[] = []
  let begun = 0
  let held: string[] = []
  /** All its lines are lines of a paragraph: an underline then makes it a heading. */
  let isParagraph = false
  let isInComment = false
  let header: string | undefined

  const flush = () => {
    const joined = held.join('\n').trim()
    const spot = { line: begun, ...headings.now() }
    const { header: shown, before } = repeatedHeader(header ?? '')
    const isTable = header !== undefined && joined !== ''
    const alone = isTable ? before : header
    if (alone !== undefined) blocks.push({ text: alone, ...spot })
    if (joined !== '') blocks.push({ text: joined, ...(isTable && { header: shown }), ...spot })
    if (held.length > 0 || header !== undefined) count.add()
    held = []
    header = undefined
  }
  const hold = (line: string, at: number) => {
    if (held.length === 0 && header === undefined) {
      begun = at + 1
      isParagraph = isPlain(line)
    } else if (isInterruption(line)) isParagraph = false
    held.push(line.trimEnd())
  }
  const enter = (depth: number, said: string) => {
    count.add()
    if (said === '') return
    headings.enter(depth, said)
    if (depth === 1) titles.push(said)
  }
  /** Whether the line is of a table: the one below its header, or a row. */
  const isOfTable = (line: string, at: number): boolean => {
    if (header !== undefined) {
      count.add()
      return false
    }
    const above = held.at(-1)
    if (above === undefined || !isDelimiterRow(line) || columnsOf(above) !== columnsOf(line))
      return false
    held.pop()
    flush()
    begun = at
    header = `${above}\n${line.trimEnd()}`
    return true
  }
  /** The line without comments that it begins with, or is within; nothing if there is no more of it. */
  const withoutComments = (line: string, from: number): string | undefined => {
    let rest = line
    while (isInComment || isComment(rest, from, lastCommentEnd)) {
      const end = rest.indexOf('-->', isInComment ? 0 : rest.indexOf('<!--') + 2)
      isInComment = end < 0
      rest = end < 0 ? '' : rest.slice(end + 3)
      if (rest.trim() === '') return undefined
    }
    return rest
  }
  /** A heading in either spelling, of which nothing is held. */
  const isHeading = (line: string): boolean => {
    const atx = atxOf(line)
    const depth = atx ? 0 : underlineDepth(line)
    if (atx) flush()
    else if (depth === 0 || !isParagraph || held.length === 0 || header !== undefined) return false
    if (atx) enter(atx.depth, atx.text)
    else {
      const said = held.map((one) => one.trim()).join(' ')
      held = []
      enter(depth, said)
    }
    return true
  }

  return {
    add(whole: string, at: number, from: number): void {
      if (isMarkdown && fence.holds(whole)) return hold(whole, at)
      const line = isMarkdown ? withoutComments(whole, from) : whole
      if (line === undefined) return
      if (line.trim() === '') return flush()
      if (isMarkdown && isHeading(line)) return
      if (isMarkdown && fence.opens(line, held.length === 0)) {
        hold(line, at)
        isParagraph = false
      } else if (!isOfTable(line, at)) hold(line, at)
    },
    end() {
      flush()
      return { blocks, titles }
    },
  }
}

/** Whether a line begins with a comment that ends, there or further down. */
function isComment(line: string, from: number, lastEnd: number): boolean {
  const start = line.length - line.trimStart().length
  return start <= 3 && line.startsWith('<!--', start) && lastEnd > from
}

/** `## Said ##`: what closes it stands apart, so that `# C#` keeps its own. */
function atxOf(line: string): { readonly depth: number; readonly text: string } | undefined {
  const [whole, marks] = /^ {0,3}(#{1,6})(?=[ \t]|$)/.exec(line) ?? []
  if (whole === undefined || marks === undefined) return undefined
  const said = line.slice(whole.length).trim()
  let end = said.length
  while (end > 0 && said[end - 1] === '#') end -= 1
  const isClosed = end < said.length && (end === 0 || /[ \t]/.test(said[end - 1]!))
  return { depth: marks.length, text: isClosed ? said.slice(0, end).trimEnd() : said }
}

/** The depth that a line of `===` or `---` gives to the paragraph above it; 0 if it is none. */
function underlineDepth(line: string): 0 | 1 | 2 {
  const marks = line.trim()
  if (!/^ {0,3}[-=]/.test(line)) return 0
  return /^=+$/.test(marks) ? 1 : /^-+$/.test(marks) ? 2 : 0
}

/** A line that ends a paragraph by beginning another block: an item of a list, a quote. */
const isInterruption = (line: string): boolean =>
  /^ {0,3}(?:[-+*>]|\d{1,9}[.)])(?:\s|$)|^ {0,3}>/.test(line)

/** The first line of a paragraph. */
const isPlain = (line: string): boolean =>
  !isInterruption(line) && !/^(?: {4}| {0,3}\t| {0,3}[<|])/.test(line)

/** Between `---` and `---`, or `+++` and `+++`, at the very beginning; a line of blanks below the first is text. */
function frontMatterLines(text: string): number {
  let mark = ''
  for (const { line, at } of linesOf(text)) {
    const said = line.trimEnd()
    if (at === 0) {
      if (said !== '---' && said !== '+++') return 0
      mark = said
    } else if (at === 1 && said === '') return 0
    else if (said === mark || (mark === '---' && said === '...')) return at + 1
  }
  return 0
}
