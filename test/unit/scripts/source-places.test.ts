import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'
import { createSourcePlaces } from '../../../scripts/source-places.mjs'

const folder = mkdtempSync(join(tmpdir(), 'isola-places-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** A minified module beside its map, and where in it something stands. */
function build(source: string, text: string) {
  const { code, map } = transformSync(source, {
    sourcefile: 'src/failing.ts',
    loader: 'ts',
    minify: true,
    sourcemap: 'external',
  })
  const path = join(folder, 'index.js')
  writeFileSync(path, code)
  writeFileSync(`${path}.map`, map)
  const column = code.indexOf(text) + 1
  expect(column).toBeGreaterThan(0)
  return `${pathToFileURL(path).href}:1:${column}`
}

describe('what npm start shows of an error', () => {
  it('names the source, not the minified Worker', () => {
    const source = `export function failing(): void {\n  console.log('first')\n  throw new Error('boom')\n}\n`
    const at = build(source, 'new Error')
    const show = createSourcePlaces(folder)
    expect(show(`{"frames":["at a (${at})","at async ${at}"]}`)).toBe(
      '{"frames":["at a (src/failing.ts:3:9)","at async src/failing.ts:3:9"]}',
    )
  })

  it('leaves a place without a map as it is', () => {
    const line = `at a (file:///nowhere/index.js:1:2)`
    expect(createSourcePlaces(folder)(line)).toBe(line)
  })
})
