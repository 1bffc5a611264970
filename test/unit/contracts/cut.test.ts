import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bothEnds } from '../../../src/runtime/context/types.ts'
import { headOf, tailOf } from '#contracts/cut.ts'
import { labelFrom } from '#contracts/label.ts'
import { capped } from '../../../src/runtime/kernel/types/network-rule.ts'

const smiles = '😀'.repeat(300)
const odd = `x${smiles}`

describe('a text that is cut', () => {
  it('has no half of a character, and is never longer than it may be', () => {
    for (let chars = 0; chars < 12; chars += 1)
      for (const text of [smiles, odd])
        for (const part of [headOf(text, chars), tailOf(text, chars)]) {
          expect(part.isWellFormed()).toBe(true)
          expect(part.length).toBeLessThanOrEqual(chars)
          expect(part.length).toBeGreaterThanOrEqual(chars - 1)
        }
    expect([headOf('abc', 2), tailOf('abc', 2), headOf('abc', 9)]).toEqual(['ab', 'bc', 'abc'])
    expect(headOf(smiles, 9.9)).toBe('😀'.repeat(4))
    expect(bothEnds(odd, 21).isWellFormed()).toBe(true)
  })

  it.each([
    ['with its length', (text: string) => capped(text, 10)],
    ['as a source of a label', (text: string) => labelFrom(text).sources[0]!.from],
  ])('%s is whole', (_what, cut) => {
    expect([cut(smiles), cut(odd)].every((text) => text.isWellFormed())).toBe(true)
  })

  it('is cut by these, wherever it may be anybody’s', () => {
    const root = join(import.meta.dirname, '../../../src')
    /** Hashes and ids, in ASCII; lists; texts that are searched and not shown. */
    const others = new Set([
      'runtime/catalog/search/words.ts',
      'runtime/catalog/tool-document.ts',
      'contracts/cut.ts',
      'features/access/key-administration.ts',
      'features/access/request-limits.ts',
      'features/access/trust-administration.ts',
      'features/mcp-servers/listing.ts',
      'features/plugins/capabilities/isolate-meter.ts',
      'runtime/session/storage/ids.ts',
    ])
    const cuts = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.gen.ts') && !others.has(file))
      // What runs inside of an isolate has no imports of ours: halves that it leaves are replaced at its border.
      .filter((file) => !file.startsWith('features/plugins/sandbox/inside/'))
      .flatMap((file) =>
        readFileSync(join(root, file), 'utf8')
          .split('\n')
          // The kernel counts its lines, those of this helper too.
          .filter((line) => !line.includes('.toWellFormed()'))
          .filter((line) => /(\.slice\(0, [\w.]*Chars\b)|(essage(\(.*\))?\.slice\(0)/.test(line))
          .map((line) => `${file}: ${line.trim()}`),
      )
    expect(cuts).toEqual([])
  })
})
