import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import { maxDocumentChars, maxPassages, type ReadDocument } from '../types.ts'
import { type DocumentType } from '#features/record/types/knowledge.ts'
import { markdownBlocks, pageBlocks, textBlocks, type Pause, type ReadBlocks } from './blocks.ts'
import { toPassages } from './passages.ts'

type Reader = (text: string, pause: Pause) => Promise<ReadBlocks>

const readers: Readonly<Record<Exclude<DocumentType, 'pages'>, Reader>> = {
  text: textBlocks,
  markdown: markdownBlocks,
  // With its table of characters: it is loaded when the first page comes.
  html: async (...read) => (await import('./html-blocks.ts')).htmlBlocks(...read),
}

/** Makes passages of what was sent, by its type. `pause` lets others be answered while a long one is read. */
export const createDocumentReader =
  (pause: Pause): ReadDocument =>
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
