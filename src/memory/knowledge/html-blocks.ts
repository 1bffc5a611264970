import { IsolaError } from '#contracts/errors.ts'
import { createHeadings, type Block, type ReadBlocks } from './blocks.ts'

/** What of a page is no text of it. */
const hidden = 'script, style, noscript, template, svg, nav, iframe, object, select, textarea'
const parted =
  'p, div, section, article, main, aside, header, footer, ul, ol, li, dl, dt, dd, table, tr, blockquote, figure, figcaption, form, pre, hr, address, details, summary'

/**
 * What a page says, under its headings, by the platform's own reader: it builds no tree, and runs nothing. Markup that is
 * not closed costs only the page that has it.
 */
export async function htmlBlocks(html: string): Promise<ReadBlocks> {
  const headings = createHeadings()
  const blocks: Block[] = []
  let [held, title] = ['', '']
  let [hiddenDepth, preDepth, isTitle] = [0, 0, false]
  let heading: number | undefined
  const flush = () => {
    const text = decoded(held).trim()
    held = ''
    if (heading !== undefined && text !== '') headings.enter(heading, text)
    else if (text !== '') blocks.push({ text, ...headings.now() })
    heading = undefined
  }
  const within = (element: Element, begin: () => void, end: () => void) => {
    try {
      element.onEndTag(end)
    } catch {
      return // It has none (<svg/>): nothing is within it.
    }
    begin()
  }
  const reader = new HTMLRewriter()
    .on(hidden, {
      element: (one) =>
        within(
          one,
          () => (hiddenDepth += 1),
          () => (hiddenDepth -= 1),
        ),
    })
    .on('title', {
      element: (one) =>
        within(
          one,
          () => (isTitle = true),
          () => (isTitle = false),
        ),
    })
    .on(parted, { element: flush })
    .on('pre', {
      element: (one) =>
        within(
          one,
          () => (preDepth += 1),
          () => (flush(), (preDepth -= 1)),
        ),
    })
    .on('h1, h2, h3, h4, h5, h6', {
      element: (one) => {
        flush()
        within(one, () => (heading = Number(one.tagName.slice(1))), flush)
      },
    })
    .on('br', { element: () => void (held += '\n') })
    .on('td, th', { element: () => void (held += ' ') })
    .onDocument({
      text({ text }) {
        if (isTitle) title += text
        else if (hiddenDepth === 0) held += preDepth > 0 ? text : text.replace(/\s+/g, ' ')
      },
    })
  const read = reader.transform(new Response(html)).body?.pipeTo(new WritableStream())
  // It keeps no more than it needs: what is nested without end is more.
  await read?.catch((cause: unknown) => {
    const message =
      'text: is HTML that cannot be read: it is nested too deep, or a tag is too long.'
    throw new IsolaError('request_invalid', message, { param: 'text', cause })
  })
  flush()
  const named = decoded(title).replace(/\s+/g, ' ').trim().slice(0, 200).toWellFormed()
  return { ...(named !== '' && { title: named }), blocks }
}

/** Those that texts are full of; the reader hands on the rest as they are written. */
const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  szlig: 'ß',
  eacute: 'é',
}

const decoded = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return named[String(name).toLowerCase()] ?? String(whole)
    const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal)
    return code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff)
      ? String.fromCodePoint(code)
      : ' '
  })
