// The table of npm run figures: what the house weighs, in the words of docs/contributing.md.
import { roomOf } from '../walk/rooms.ts'
import { codeFiles, countedFolders, isOfCommand, readSource, type Source } from './sources.ts'
import { findSubjects, type Kind } from './subjects.ts'
import { countTokens } from './tokens.ts'
import { countTypes, declaredTwice, sharedNames } from './types.ts'

/** A name and its figures, in the order in which they are printed. */
export type Row = readonly [name: string, ...figures: number[]]

const maxColumns = 120
const fewLines = 30
/** From so many rooms on a name is part of the vocabulary. */
const manyRooms = 3

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const share = (part: number, whole: number) => Math.round((1000 * part) / whole) / 10

/** The length below or at which 95 of 100 are. */
export const p95 = (lengths: readonly number[]): number =>
  lengths.toSorted((one, other) => one - other)[Math.ceil(lengths.length * 0.95) - 1] ?? 0

const longLines = ({ text }: Source) =>
  text.split('\n').filter((line) => line.length > maxColumns).length

const suppression = /(?:oxlint|eslint)-disable|@ts-(?:ignore|expect-error|nocheck)/
const suppressions = ({ comments }: Source) =>
  comments.filter(({ value }) => suppression.test(value)).length

/** Lines that hold a comment and no code before it. */
export function commentLines({ text, comments }: Pick<Source, 'text' | 'comments'>): number {
  return sum(
    comments.map(({ start, end }) => {
      const isAlone = /^[ \t]*$/.test(text.slice(text.lastIndexOf('\n', start - 1) + 1, start))
      const further = text.slice(start, end).split('\n').length - 1
      return isAlone ? further + 1 : further
    }),
  )
}

function lengthRows(own: readonly Source[], command: readonly Source[]): readonly Row[] {
  const lengths = own.map(({ lines }) => lines)
  return [
    ['lines of src · of the command', sum(lengths), sum(command.map(({ lines }) => lines))],
    [
      `files of src · with ${fewLines} lines or fewer · file lines p95 · max`,
      own.length,
      lengths.filter((lines) => lines <= fewLines).length,
      p95(lengths),
      Math.max(...lengths),
    ],
  ]
}

function contractRows(own: readonly Source[]): readonly Row[] {
  const contracts = own.filter(({ path }) => path.startsWith('src/contracts/'))
  const names = sharedNames(own)
  const few = names.filter(({ rooms }) => rooms.length < manyRooms)
  return [
    [
      `contracts: files · lines · exported names · used by fewer than ${manyRooms} rooms`,
      contracts.length,
      sum(contracts.map(({ lines }) => lines)),
      names.length,
      few.length,
    ],
  ]
}

function typeRows(own: readonly Source[]): readonly Row[] {
  const types = own.map(countTypes)
  return [
    [
      '`any` · suppressions (cycles: the linter)',
      sum(types.map(({ any }) => any)),
      sum(own.map(suppressions)),
    ],
    [
      'Pick, Omit, Parameters, ReturnType · exported type names declared twice',
      sum(types.map(({ utilities }) => utilities)),
      declaredTwice(own).length,
    ],
  ]
}

function subjectRows(base: string): readonly Row[] {
  const found = findSubjects(base)
  const of = (kind: Kind, isOwn = (_path: string) => true) =>
    found.filter((one) => one.kind === kind && isOwn(one.path)).length
  const isSrc = (path: string) => path.startsWith('src/')
  const isTest = (path: string) => path.startsWith('test/')
  return [
    ['subjects that lint refuses, all', found.length],
    [
      '  comments of src · of test · of the rest · errors · test titles · docs',
      of('comment', isSrc),
      of('comment', isTest),
      of('comment', (path) => !isSrc(path) && !isTest(path)),
      of('error'),
      of('title'),
      of('doc'),
    ],
  ]
}

/** The rows of the product below `base`. */
export function makeTable(base: string): readonly Row[] {
  const sources = codeFiles(base, countedFolders).map((path) => readSource(base, path))
  const own = sources.filter(({ path }) => path.startsWith('src/'))
  const command = sources.filter(({ path }) => isOfCommand(path))
  const scripts = sources.filter((source) => !own.includes(source) && !command.includes(source))
  const parts = [own, command, scripts]
  const tokens = parts.map((part) => sum(part.map(countTokens)))
  const comments = sum(own.map(commentLines))
  return [
    ...lengthRows(own, command),
    ['tokens without comments: src · command · scripts · sum', ...tokens, sum(tokens)],
    [
      `lines over ${maxColumns} columns: src · command · scripts`,
      ...parts.map((part) => sum(part.map(longLines))),
    ],
    ['rooms of src', new Set(own.map(({ path }) => roomOf(path.slice('src/'.length)))).size],
    ...contractRows(own),
    ...typeRows(own),
    ...subjectRows(base),
    ['comment lines of src, %', share(comments, sum(own.map(({ lines }) => lines)))],
  ]
}
