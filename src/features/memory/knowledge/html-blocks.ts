import { Parser } from 'htmlparser2'
import { IsolaError } from '#contracts/errors.ts'
import { maxParts } from '../types.ts'
import {
  createHeadings,
  repeatedHeader,
  type Block,
  type GiveWay,
  type ReadBlocks,
  createCount,
} from './blocks.ts'
import { isHidden, type HtmlAttributes } from './hidden-html.ts'

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Where a block begins, and ends. */
const parted = setOf(
  'p div section article main aside header footer ul ol li dl dt dd table caption tr blockquote figure ' +
    'figcaption form pre hr address details summary',
)
const isHeading = (name: string): boolean => /^h[1-6]$/.test(name)

/**
 * Tags that end an unclosed element, and the element whose inside they cannot leave: HTML allows these end tags to be
 * missing.
 */
const unclosed: Readonly<Record<string, { readonly ends: string; readonly within: string }>> = {
  li: { ends: 'li', within: 'ul ol' },
  dt: { ends: 'dt dd', within: 'dl' },
  dd: { ends: 'dt dd', within: 'dl' },
  td: { ends: 'td th', within: 'table' },
  th: { ends: 'td th', within: 'table' },
  tr: { ends: 'tr td th', within: 'table' },
  p: { ends: 'p', within: 'div td th li' },
}

const maxDepth = 1_000
const sliceChars = 16 * 1024

/**
 * The text of a page, under its headings: builds no tree, and runs nothing. Text that a browser hides is left out;
 * entities are decoded. Pauses between slices, so that other requests are answered.
 */
export async function htmlBlocks(html: string, pause: GiveWay): Promise<ReadBlocks> {
  const page = createPage()
  const parser = new Parser(page.handler, { decodeEntities: true })
  for (let at = 0; at < html.length; at += sliceChars) {
    parser.write(html.slice(at, at + sliceChars))
    await pause()
  }
  parser.end()
  return page.end()
}

interface Open {
  readonly name: string
  hides: boolean
}

/** Collects the parser's events as blocks. */
function createPage() {
  const headings = createHeadings()
  const count = createCount('text', maxParts, 'elements')
  const tables = createTables()
  const blocks: Block[] = []
  const open: Open[] = []
  const held = createHeld()
  let title = ''
  let [hiddenDepth, preDepth, isTitle] = [0, 0, false]
  let heading: number | undefined

  const flush = () => {
    const text = held.take()
    if (text === '') return
    // A heading that was not closed ends with its first block.
    if (heading !== undefined) headings.enter(heading, text.replace(/\s+/g, ' '))
    else blocks.push(...tables.take({ text, ...headings.now() }))
    heading = undefined
  }
  /** An element that was not closed hides nothing behind its own end. */
  const showAfter = (name: string) => {
    const { ends, within } = unclosed[name] ?? {}
    if (ends === undefined || within === undefined) return
    for (const one of open.toReversed()) {
      if (within.split(' ').includes(one.name)) return
      if (!one.hides || !ends.split(' ').includes(one.name)) continue
      one.hides = false
      hiddenDepth -= 1
    }
  }
  const enter = (name: string, attributes: HtmlAttributes) => {
    count.add()
    if (open.length >= maxDepth) throw tooDeep()
    if (hiddenDepth > 0) showAfter(name)
    if (parted.has(name) || isHeading(name)) flush()
    const hides = isHidden(name, attributes)
    open.push({ name, hides })
    if (hides) hiddenDepth += 1
    if (hiddenDepth > 0) return
    tables.enter(name).forEach((block) => blocks.push(block))
    if (name === 'title') isTitle = title === ''
    else if (name === 'br') held.add('\n')
    else if (name === 'td' || name === 'th') held.add(' ')
    else if (name === 'pre') preDepth += 1
    else if (isHeading(name)) heading = Number(name.slice(1))
  }
  const leave = (name: string) => {
    const isShown = hiddenDepth === 0
    if (open.pop()?.hides) hiddenDepth -= 1
    if (!isShown) return
    if (name === 'title') isTitle = false
    if (parted.has(name) || isHeading(name)) flush()
    if (isHeading(name)) heading = undefined
    if (name === 'pre' && preDepth > 0) preDepth -= 1
    tables.leave(name, headings.now()).forEach((block) => blocks.push(block))
  }
  return {
    handler: {
      onopentag: enter,
      onclosetag: leave,
      ontext(text: string): void {
        if (hiddenDepth > 0) return
        if (isTitle) title = title.length < 1_000 ? title + text : title
        else held.add(preDepth > 0 ? text : text.replace(/\s+/g, ' '))
      },
    },
    end(): ReadBlocks {
      flush()
      const named = title.replace(/\s+/g, ' ').trim().slice(0, 200).toWellFormed()
      return { ...(named !== '' && { title: named }), blocks }
    },
  }
}

const tooDeep = (): IsolaError => {
  const message = `text: is nested too deep: more than ${maxDepth.toLocaleString('en')} elements are in each other.`
  return new IsolaError('request_invalid', message, { param: 'text' })
}

/** Text of a block as it comes, with one blank where pieces of it meet with two. */
function createHeld() {
  let pieces: string[] = []
  let isBlankAtEnd = true
  return {
    add(text: string): void {
      const piece = isBlankAtEnd && text.startsWith(' ') && text !== ' ' ? text.slice(1) : text
      if (piece === '' || (isBlankAtEnd && piece === ' ')) return
      pieces.push(piece)
      isBlankAtEnd = piece.endsWith(' ') || piece.endsWith('\n')
    },
    take(): string {
      const text = pieces.join('').trim()
      pieces = []
      isBlankAtEnd = true
      return text
    },
  }
}

interface Table {
  readonly header: string[]
  rows: number
  isInHead: boolean
  row: { cells: number; names: number; texts: string[] } | undefined
}

/**
 * Rows of tables. The first rows of `th` alone, or those of `thead`, are the header of the others; a table without one
 * lays out a page, and its cells are blocks.
 */
function createTables() {
  const open: Table[] = []
  const now = (): Table | undefined => open.at(-1)
  /** The cells of its first row may still turn out to be a header. */
  const keepsRow = ({ row, header, rows, isInHead }: Table): boolean =>
    row !== undefined &&
    (header.length > 0 || (rows === 0 && (isInHead || row.cells === row.names)))
  const takeRow = (table: Table, spot: Pick<Block, 'headings'>): readonly Block[] => {
    const { row, header } = table
    const isKept = keepsRow(table)
    table.row = undefined
    if (!row) return []
    const text = row.texts.join(' ')
    const isHeader =
      table.rows === 0 && (table.isInHead || (row.cells > 0 && row.cells === row.names))
    if (isKept && isHeader) {
      if (text !== '') header.push(text)
      return []
    }
    table.rows += 1
    if (text === '') return []
    const { before, header: shown } = repeatedHeader(header.join('\n'))
    const first = table.rows === 1 && before !== undefined ? [{ text: before, ...spot }] : []
    return [...first, { text, ...(shown !== '' && { header: shown }), ...spot }]
  }
  return {
    /** The blocks that a text makes: none while its row is not whole. */
    take(block: Block): readonly Block[] {
      const table = now()
      if (!table || !keepsRow(table)) return [block]
      table.row!.texts.push(block.text)
      return []
    },
    enter(name: string): readonly Block[] {
      if (name === 'table') open.push({ header: [], rows: 0, isInHead: false, row: undefined })
      const table = now()
      if (!table) return []
      if (name === 'thead') table.isInHead = true
      if (name === 'tr') table.row = { cells: 0, names: 0, texts: [] }
      if (!table.row || (name !== 'td' && name !== 'th')) return []
      table.row.cells += 1
      if (name === 'th') table.row.names += 1
      if (keepsRow(table)) return []
      const texts = table.row.texts.splice(0)
      return texts.map((text) => ({ text }))
    },
    leave(name: string, spot: Pick<Block, 'headings'>): readonly Block[] {
      const table = now()
      if (!table) return []
      if (name === 'thead') table.isInHead = false
      if (name === 'tr') return takeRow(table, spot)
      if (name !== 'table') return []
      open.pop()
      const { header, rows } = table
      return header.length > 0 && rows === 0 ? [{ text: header.join('\n'), ...spot }] : []
    },
  }
}
