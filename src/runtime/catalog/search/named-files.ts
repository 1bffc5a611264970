import { stemOf } from './stemmer.ts'

/** Words for each file ending. Not `js`: in `Node.js` it is part of a name. */
const kinds: ReadonlyMap<string, string> = new Map(
  `md markdown
  txt text
  csv csv spreadsheet
  xlsx excel spreadsheet
  xls excel spreadsheet
  docx word document
  doc word document
  pptx presentation powerpoint
  ppt presentation powerpoint
  pdf pdf document
  png image
  jpg image
  jpeg image
  gif image
  webp image
  svg image
  mp3 audio
  wav audio
  mp4 video
  mov video
  zip archive
  json json
  html html
  py python
  ts typescript
  yml yaml
  yaml yaml
  sql sql database`
    .split('\n')
    .map((line) => line.trim().split(/ (.*)/) as [string, string]),
)

/** An address, a path or a bare name with an ending. */
const filePattern =
  /(?<!\w)\w+:\/\/\S+|(?:~|\.{1,2})?(?:\/[\w.{}-]+)+|\b[\w-]{1,64}\.[a-z][a-z0-9]{1,4}\b/giu
const saving =
  /\b(?:sav(?:e[ds]?|ing)|write|create|generate|make|export|store|put|output|draft|produce|give|build|download)\b/iu
const clauseEnd = /[.!?;,\n]\s|\bthen\b/u
/** How far before a file's name words for writing are searched, in characters. */
const maxBefore = 120

/** A text with the files that it names, and what the query wants with them. */
export interface NamedFiles {
  /** The text without their names. */
  readonly rest: string
  /** Words for the files: `file`, their kinds and their endings. */
  readonly words: readonly string[]
  /** Terms with their weights: writing or reading such a file. */
  readonly questions: readonly ReadonlyMap<string, number>[]
}

/**
 * The name of a file says little; its ending and the verb before it say more: `save it to ~/notes/rome.md` wants a tool
 * that writes.
 */
export function namedFiles(text: string): NamedFiles {
  const words = new Set<string>()
  const questions = new Map<string, ReadonlyMap<string, number>>()
  const rest = text.replace(filePattern, (name: string, at: number) => {
    const ending = /\.([a-z0-9]{2,5})\.*$/i.exec(name)?.[1]?.toLowerCase() ?? ''
    const kind = name.includes('://') ? undefined : kinds.get(ending)?.split(' ')
    if (!kind) return name
    const before =
      text
        .slice(Math.max(0, at - maxBefore), at)
        .split(clauseEnd)
        .at(-1) ?? ''
    const verb = saving.test(before) ? 'write' : 'read'
    for (const word of ['file', ...kind, ending]) words.add(word)
    const told = new Map([
      ...kind.map((word) => [stemOf(word), 0.2] as const),
      ['file', 1] as const,
    ])
    questions.set(`${verb} ${kind.join(' ')}`, told.set(verb, 1))
    // The end of a sentence is none of a name's.
    return name.endsWith('.') ? ' .' : ' '
  })
  return { rest, words: [...words], questions: [...questions.values()].slice(0, 4) }
}
