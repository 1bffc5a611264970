import type { PassageSpot } from '#contracts/knowledge.ts'

/** A paragraph, list, table or piece of code, with where it is. */
export interface Block extends PassageSpot {
  readonly text: string
}

/** What a document is made of, in its order. */
export interface ReadBlocks {
  readonly title?: string
  readonly blocks: readonly Block[]
}

const atx = /^ {0,3}(#{1,6})(?:[ \t]+|$)(.*?)[ \t#]*$/
const fence = /^ {0,3}(```+|~~~+)/
const maxHeadingChars = 200

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

/** Paragraphs between blank lines. */
export const textBlocks = (text: string): ReadBlocks => ({ blocks: readLines(text, false).blocks })

/** The same under their headings; front matter is left out, and a fence is one block. */
export function markdownBlocks(text: string): ReadBlocks {
  const { blocks, titles } = readLines(text, true)
  return { ...(titles[0] !== undefined && { title: titles[0] }), blocks }
}

/** Each page has blocks of its own. */
export const pageBlocks = (pages: readonly string[]): ReadBlocks => ({
  blocks: pages.flatMap((page, at) =>
    textBlocks(page).blocks.map(({ text }) => ({ text, page: at + 1 })),
  ),
})

function readLines(text: string, isMarkdown: boolean) {
  const lines = text.split(/\r\n|\r|\n/)
  const headings = createHeadings()
  const titles: string[] = []
  const blocks: Block[] = []
  let [begun, closing] = [0, '']
  let held: string[] = []
  const flush = () => {
    const joined = held.join('\n').trim()
    if (joined !== '') blocks.push({ text: joined, line: begun, ...headings.now() })
    held = []
  }
  const hold = (line: string, at: number) => {
    if (held.length === 0) begun = at + 1
    held.push(line.trimEnd())
  }
  for (let at = isMarkdown ? frontMatterLines(lines) : 0; at < lines.length; at += 1) {
    const line = lines[at]!
    if (closing !== '') {
      hold(line, at)
      if (line.trim().startsWith(closing)) closing = ''
      continue
    }
    const heading = isMarkdown ? atx.exec(line) : null
    if (heading) {
      flush()
      const [, marks = '', said = ''] = heading
      if (said !== '') headings.enter(marks.length, said)
      if (marks.length === 1) titles.push(said)
      continue
    }
    closing = (isMarkdown && fence.exec(line)?.[1]) || ''
    if (line.trim() === '') flush()
    else hold(line, at)
  }
  flush()
  return { blocks, titles }
}

function frontMatterLines(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== '---') return 0
  return lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---') + 1
}
