import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createGenerated } from '../../../scripts/generated.mjs'

let folder = ''
let made = 0
const path = (name: string) => join(folder, name)
const read = (name: string) => readFileSync(path(name), 'utf8')
/** Long before it is read, as most files are. */
function write(name: string, text: string): void {
  writeFileSync(path(name), text)
  utimesSync(path(name), 1_000, 1_000)
}

/** Makes `out` of `one` and, where that says so, of `two`. */
const open = () =>
  createGenerated({
    name: 'copy',
    scripts: [path('script')],
    folder: path('kept'),
    make: () => {
      made += 1
      const sources = read('one').includes('two') ? ['one', 'two'] : ['one']
      const text = [...sources, 'script'].map(read).join(' ')
      return { files: new Map([[path('out'), text]]), sources: sources.map(path) }
    },
  })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isola-generated-'))
  made = 0
  write('script', 'v1')
  write('one', 'with two')
  write('two', 'b')
  open().update()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('makes nothing again while all files are as they were', () => {
  const { mtimeMs } = statSync(path('out'))
  open().update()
  expect([open().isCurrent(), made]).toEqual([true, 1])
  expect([read('out'), statSync(path('out')).mtimeMs]).toEqual(['with two b v1', mtimeMs])
})

it.each([
  ['a source', 'one', 'with two, changed', 'with two, changed b v1'],
  ['a source of the same length and time', 'two', 'c', 'with two c v1'],
  ['what makes them', 'script', 'v2', 'with two b v2'],
  ['one of them', 'out', 'edited', 'with two b v1'],
])('notices that %s was changed', (_what, name, text, expected) => {
  write(name, text)
  expect([open().isCurrent(), read('out') === expected]).toEqual([false, false])
  open().update()
  expect(read('out')).toBe(expected)
  expect(open().isCurrent()).toBe(true)
})

it.each(['out', 'kept/copy.json'])('makes them again where %s is gone', (name) => {
  rmSync(path(name))
  open().update()
  expect([made, read('out')]).toEqual([2, 'with two b v1'])
})

it('notices that a source is gone, and what an old record does not name', () => {
  write('one', 'alone')
  rmSync(path('two'))
  open().update()
  expect(read('out')).toBe('alone v1')
  write('two', 'of no matter')
  open().update()
  expect([open().isCurrent(), made]).toEqual([true, 2])
})

it('trusts no record of files that were written while they were read', () => {
  writeFileSync(path('one'), 'just now')
  const written = new Date(Date.now() + 60_000)
  utimesSync(path('one'), written, written)
  open().update()
  open().update()
  expect([made, read('out')]).toEqual([3, 'just now v1'])
})

it('bears a record that is broken', () => {
  writeFileSync(path('kept/copy.json'), '{')
  expect([open().isCurrent(), made]).toEqual([true, 2])
  writeFileSync(path('kept/copy.json'), '{}')
  open().update()
  expect(made).toBe(3)
})

it('looks at the tools that are installed, whatever the lock says', () => {
  const record = JSON.parse(read('kept/copy.json')) as Readonly<Record<string, string>>
  expect(Object.keys(record)).toContain('node_modules/esbuild/package.json')
})
