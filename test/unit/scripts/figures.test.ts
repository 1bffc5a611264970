import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exportsIn, measureLengths } from '../../../scripts/figures.mjs'

const root = resolve(import.meta.dirname, '../../..')

describe('figures', () => {
  it('counts an export as documented if a docstring ends right above it', () => {
    const source = [
      '/** What it is. */',
      'export interface One {}',
      'export const two = 2',
      '/**',
      ' * Over lines.',
      ' */',
      'export async function three() {}',
      '/* no docstring */',
      'export type Four = 4',
      '/** Of something else. */',
      '',
      'export class Five {}',
    ].join('\n')
    expect(exportsIn(source).map(({ name, isDocumented }) => [name, isDocumented])).toEqual([
      ['One', true],
      ['two', false],
      ['three', true],
      ['Four', false],
      ['Five', false],
    ])
  })

  it('has no file on the list of those that are not split yet that is not too long', async () => {
    const text = readFileSync(join(root, '.oxlintrc.json'), 'utf8').replace(/^\s*\/\/.*$/gm, '')
    const { overrides } = JSON.parse(text) as {
      readonly overrides: readonly { readonly files: readonly string[]; readonly rules: object }[]
    }
    const listed = overrides
      .filter(({ files, rules }) => files.length > 0 && 'eslint/max-lines-per-function' in rules)
      .flatMap(({ files }) => files)
      .filter((path) => path !== 'test/**')
    const { functions, files } = await measureLengths(root)
    const tooLong = [...functions.filter(({ lines }) => lines > 120), ...files].map(({ place }) =>
      place.slice(0, place.lastIndexOf(':')),
    )
    expect(listed.filter((path) => !tooLong.includes(path))).toEqual([])
  })
})
