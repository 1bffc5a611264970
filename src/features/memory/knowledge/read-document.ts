import { defined } from '#contracts/defined.ts'
import type { NewPassage, DocumentType } from '#features/record/types/knowledge.ts'
import {
  type Block,
  markdownBlocks,
  pageBlocks,
  textBlocks,
  type GiveWay,
  type ReadBlocks,
} from './blocks.ts'
import { IsolaError } from '#contracts/errors.ts'
import { maxDocumentChars, maxPassages, type ReadDocument } from '../types.ts'

/** Where a passage is full, what no passage is longer than, and what it says again of the one before. Characters. */
const wantedChars = 1_200
const mostChars = 2_000
const overlapChars = 200

/**
 * Passages of at most 2,200 characters: paragraphs under the same headings and on the same page together, until one is
 * full. Each begins with the end of the one before, so that no sentence is found on one side of a border only; with
 * rows of a table, it begins with their header.
 */
export function toPassages(blocks: readonly Block[]): readonly NewPassage[] {
  const passages: NewPassage[] = []
  let held: Block[] = []
  let heldChars = 0
  let before = ''
  const flush = () => {
    const [first] = held
    if (!first) return
    const { text: _text, header: _header, ...spot } = first
    const own = held.map(toText).join('\n\n')
    passages.push({ ...spot, text: before === '' ? own : `${before}\n\n${own}` })
    // Rows are whole, and say nothing without their header.
    before = held.at(-1)?.header === undefined ? endOf(own) : ''
    held = []
    heldChars = 0
  }
  for (const block of blocks.flatMap(split)) {
    const isElsewhere = held[0] !== undefined && !isBeside(held[0], block)
    const chars = toText(block, held.length, held).length
    if (isElsewhere || heldChars + chars > mostChars) flush()
    if (isElsewhere) before = ''
    held.push(block)
    heldChars += chars + 2
    if (heldChars >= wantedChars) flush()
  }
  flush()
  return passages
}

/** A block below those before it: with its header, unless that is above it already. */
const toText = ({ text, header }: Block, at: number, held: readonly Block[]): string =>
  header === undefined || held[at - 1]?.header === header ? text : `${header}\n${text}`

const isBeside = (one: Block, other: Block): boolean =>
  one.page === other.page && one.headings?.join('\n') === other.headings?.join('\n')

/** Cuts a block that is too long for one passage, at the end of a line or a sentence where there is one. */
function split(block: Block): readonly Block[] {
  const pieces: Block[] = []
  let { text } = block
  let line = block.line
  const most = mostChars - (block.header === undefined ? 0 : block.header.length + 1)
  while (text.length > most) {
    const end = endWithin(text, most)
    const piece = text.slice(0, end)
    pieces.push({ ...block, text: piece.trim(), ...defined({ line }) })
    // The header is above the first of its rows.
    const headerLines = pieces.length === 1 ? (block.header?.split('\n').length ?? 0) : 0
    if (line !== undefined) line += piece.split('\n').length - 1 + headerLines
    text = text.slice(end)
  }
  return [...pieces, { ...block, text: text.trim(), ...defined({ line }) }].filter(
    (one) => one.text !== '',
  )
}

/**
 * Behind the last line, sentence or word that ends in the second half; else in the middle of a word, never of a
 * character.
 */
function endWithin(text: string, most: number): number {
  for (const mark of ['\n', '. ', '? ', '! ', '。', ' ']) {
    const at = text.lastIndexOf(mark, most - mark.length)
    if (at > most / 2) return at + mark.length
  }
  const isSplit = /[\uD800-\uDBFF]/.test(text[most - 1]!)
  return isSplit ? most - 1 : most
}

/** Its last sentences, as far as they are short. */
function endOf(text: string): string {
  const tail = text.slice(-overlapChars)
  const at = tail.length < text.length ? tail.search(/\S(?<=[.!?。\n]\s*\S)/) : 0
  return at < 0 ? '' : tail.slice(at).trim().toWellFormed()
}

type Reader = (text: string, pause: GiveWay) => Promise<ReadBlocks>

const readers: Readonly<Record<Exclude<DocumentType, 'pages'>, Reader>> = {
  text: textBlocks,
  markdown: markdownBlocks,
  // With its table of characters: it is loaded when the first page comes.
  html: async (...read) => (await import('./html-blocks.ts')).htmlBlocks(...read),
}

/** Makes passages of what was sent, by its type. `pause` lets others be answered while a long one is read. */
export const createDocumentReader =
  (pause: GiveWay): ReadDocument =>
  async ({ type, text, pages }) => {
    const [wanted, given] = type === 'pages' ? ['pages', pages] : ['text', text]
    if (given === undefined) throw invalid(String(wanted), `is what a document of type ${type} has`)
    if ((type === 'pages' ? text : pages) !== undefined)
      throw invalid(type === 'pages' ? 'text' : 'pages', `is not for type ${type}`)
    const whole = [given].flat().join('\n')
    if (whole.startsWith('%PDF-')) throw invalid(String(wanted), `is a PDF. ${pdfAdvice}`)
    if (whole.length > maxDocumentChars)
      throw invalid(
        String(wanted),
        `has more than ${maxDocumentChars} characters: send it in parts`,
      )
    if (whole.includes('\0'))
      throw invalid(String(wanted), 'is no text: there are zero bytes in it')
    const { title, blocks } =
      type === 'pages'
        ? await pageBlocks(pages!.map(toClean), pause)
        : await readers[type](toClean(whole), pause)
    const passages = toPassages(blocks)
    if (passages.length === 0) throw invalid(String(wanted), 'has nothing that can be read')
    if (passages.length > maxPassages)
      throw invalid(String(wanted), `makes more than ${maxPassages} passages: send it in parts`)
    return { ...defined({ title }), passages }
  }

/** Well-formed, and without the mark of its encoding, which is no character of the text. */
const toClean = (text: string): string => text.replace(/^\uFEFF/, '').toWellFormed()

/** A PDF's reader is larger than the Worker: the command has it. */
const pdfAdvice =
  'The command reads those: isola knowledge add <file>.pdf. Or send its texts by page, with type pages.'

const invalid = (param: string, what: string): IsolaError =>
  new IsolaError('request_invalid', `${param}: ${what}.`.replace(/\.\.$/, '.'), { param })
