// How many sentences have a subject that names nothing (scripts/lint/subjects.mjs), by where they stand.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Visitor } from 'oxc-parser'
import { proseOfComments, proseOfPage, visitTexts, type TextVisitor } from '../lint/prose.mjs'
import { refusedSubjects } from '../lint/subjects.mjs'
import { allFolders, codeFiles, readSource, type Source } from './sources.ts'

export type Kind = 'comment' | 'error' | 'title' | 'doc'
export interface Subject {
  readonly kind: Kind
  readonly path: string
  readonly line: number
  readonly word: string
}
interface Found extends Pick<Subject, 'kind' | 'word'> {
  readonly at: number
}

/** The refused subjects of a file of code, `at` their offsets. */
export function subjectsIn({ path, text, program, comments }: Source): readonly Found[] {
  const found: Found[] = proseOfComments(comments, text).flatMap(({ words, start }) =>
    refusedSubjects(words).map(({ word, at }) => ({
      kind: 'comment' as const,
      word,
      at: start + at,
    })),
  )
  const onText: TextVisitor = (kind, { start }, words) => {
    for (const { word } of refusedSubjects(words)) found.push({ kind, word, at: start })
  }
  new Visitor(visitTexts(onText, { isTest: path.startsWith('test/') })).visit(program)
  return found
}

const pages = (base: string) => [
  'README.md',
  ...readdirSync(join(base, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
    // A decision is never rewritten.
    .filter((path) => path.endsWith('.md') && !path.startsWith('docs/decisions/')),
]

/** Each refused subject below `base`. */
export function findSubjects(base: string): readonly Subject[] {
  const lineAt = (text: string, at: number) => text.slice(0, at).split('\n').length
  const inCode = codeFiles(base, allFolders).flatMap((path): readonly Subject[] => {
    const source = readSource(base, path)
    return subjectsIn(source).map(({ kind, word, at }) => ({
      kind,
      path,
      line: lineAt(source.text, at),
      word,
    }))
  })
  const onPages = pages(base).flatMap((path) => {
    const words = proseOfPage(readFileSync(join(base, path), 'utf8'))
    return refusedSubjects(words).map(({ word, at }) => ({
      kind: 'doc' as const,
      path,
      line: lineAt(words, at),
      word,
    }))
  })
  return [...inCode, ...onPages]
}
