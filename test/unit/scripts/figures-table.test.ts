import { describe, expect, it } from 'vitest'
import { parseSource } from '../../../scripts/figures/sources.ts'
import { subjectsIn } from '../../../scripts/figures/subjects.ts'
import { commentLines, p95 } from '../../../scripts/figures/table.ts'
import { countTokens } from '../../../scripts/figures/tokens.ts'
import { countTypes, declaredTwice, sharedNames } from '../../../scripts/figures/types.ts'

const source = (path: string, ...lines: string[]) => parseSource(path, lines.join('\n'))

describe('tokens', () => {
  it('are the same however the code is broken into lines and whatever its comments say', () => {
    const short = source('a.ts', 'const a = f(1, 2)')
    const long = source('a.ts', '/** Why. */', 'const a = f(', '  1, // one', '  2', ')')
    expect(countTokens(short)).toBe(9)
    expect(countTokens(long)).toBe(9)
  })

  it('take a regular expression, and each piece of a template, for one', () => {
    expect(countTokens(source('a.ts', "const a = /['`/]/g.test(b) / 2"))).toBe(11)
    expect(countTokens(source('a.ts', 'const a = `x${ { b: 1 }.b } // ${c}`'))).toBe(14)
    expect(countTokens(source('a.ts', 'type A = `x-${B}`'))).toBe(6)
  })
})

describe('types', () => {
  it('counts `any`, and what takes another type apart', () => {
    const text =
      'type A = Pick<B, 1> & Omit<B, 2> & Partial<B>; const any = (a: any): ReturnType<B> => a; interface C extends Omit<B, 3> {}'
    expect(countTypes(source('a.ts', text))).toEqual({ any: 1, utilities: 4 })
  })

  it('finds exported types that two files declare, and no others', () => {
    const one = source(
      'src/a.ts',
      'export interface Work {}',
      'interface Own {}',
      'export class Fault {}',
    )
    const two = source(
      'src/b.ts',
      'export type Work = 1',
      'export interface Own {}',
      'export const Fault = 1',
    )
    expect(declaredTwice([one, two])).toEqual([{ name: 'Work', paths: ['src/a.ts', 'src/b.ts'] }])
  })
})

describe('the vocabulary', () => {
  it('counts the rooms that import a name, not contracts, wiring or a second file of a room', () => {
    const names = sharedNames([
      source(
        'src/contracts/run.ts',
        'export interface Run {}',
        'export const max = 1',
        'type Own = 1',
      ),
      source(
        'src/contracts/view.ts',
        "import type { Run } from './run.ts'",
        'export type View = Run',
      ),
      source('src/compose/features.ts', "import { max } from '#contracts/run.ts'"),
      source('src/features/agents/a.ts', "import type { Run } from '#contracts/run.ts'"),
      source('src/features/agents/b/c.ts', "import type { Run } from '../../../contracts/run.ts'"),
      source('src/kernel/a.ts', "import { type Run as Task } from '#contracts/run.ts'"),
      source('src/http/a.ts', "export { max } from '#contracts/run.ts'"),
    ])
    expect(names.map(({ name, rooms }) => [name, ...rooms])).toEqual([
      ['Run', 'features/agents', 'kernel'],
      ['max', 'http'],
      ['View'],
    ])
  })
})

describe('lengths', () => {
  it('of 95 in 100 files are at or below p95', () => {
    expect(p95(Array.from({ length: 100 }, (_, index) => 100 - index))).toBe(95)
    expect(p95([7])).toBe(7)
  })

  it('counts lines of comments alone, not those that end a line of code', () => {
    expect(
      commentLines(source('a.ts', '/**', ' * Why.', ' */', 'let a = 1 // here', '// and')),
    ).toBe(4)
  })
})

describe('refused subjects of a file', () => {
  const words = (path: string, ...lines: string[]) =>
    subjectsIn(source(path, ...lines)).map(({ kind, word }) => `${kind}: ${word}`)

  it('stand in comments, over several lines too', () => {
    expect(
      words(
        'src/a.ts',
        '/**',
        ' * Reads it. Nobody',
        ' * waits.',
        ' */',
        '// It ends when',
        '// somebody asks.',
      ),
    ).toEqual(['comment: nobody', 'comment: somebody'])
  })

  it('stand in errors and refusals', () => {
    expect(
      words(
        'src/a.ts',
        "throw new IsolaError('request_x', `name: nobody has ${name}.`)",
        "z.string({ error: 'Whoever asks must say it.' })",
        "const other = 'Nobody reads this text as an error.'",
      ),
    ).toEqual(['error: nobody', 'error: whoever'])
  })

  it('stand in titles of tests', () => {
    expect(
      words(
        'test/a.test.ts',
        "describe.each([1])('a run', () => { it('ends where nobody waits', () => { throw new Error('Nobody') }) })",
      ),
    ).toEqual(['title: nobody'])
  })
})
