import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildSync } from 'esbuild'
import { afterAll, expect, test } from 'vitest'
import { partsOf } from '../../../scripts/upload-parts.mjs'

const folder = mkdtempSync(join(tmpdir(), 'isola-parts-'))
afterAll(() => rmSync(folder, { recursive: true }))

const said = Array.from({ length: 200 }, (_, index) => `${(index * 7_919) % 9_973} words`).join()

/** Some modules as one minified file, with its source map. */
function bundle(modules: Readonly<Record<string, string>>) {
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(folder, name), text)
  const { outputFiles } = buildSync({
    entryPoints: [join(folder, 'entry.js')],
    bundle: true,
    minify: true,
    sourcemap: 'external',
    outfile: join(folder, 'out.js'),
    write: false,
  })
  const find = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? ''
  return { text: find('.js'), map: JSON.parse(find('.map')) }
}

test('the parts of an upload are its bytes, each at the module that it is from', () => {
  const { text, map } = bundle({
    'entry.js': "import './one.js'\nconsole.log(`first line\n  second line of a text`, '…')",
    'one.js': `console.log('${said}')`,
  })
  const parts = partsOf(text, map, (path) => basename(path))
  const bytesOf = (name: string) => parts.find(({ origin }) => origin === name)?.rawBytes ?? 0
  expect(parts.reduce((sum, { rawBytes }) => sum + rawBytes, 0)).toBe(Buffer.byteLength(text))
  expect(bytesOf('one.js')).toBeGreaterThan(said.length)
  expect(bytesOf('entry.js')).toBeGreaterThan(40)
  expect(bytesOf('entry.js')).toBeLessThan(120)
})

test('a part costs what the compressed upload is smaller without it', () => {
  const { text, map } = bundle({
    'entry.js': "import './one.js'\nimport './two.js'\nimport './other.js'",
    'one.js': `console.log('${said}')`,
    'two.js': `console.warn('${said}')`,
    'other.js': `console.info('${said.split('').toReversed().join('')}')`,
  })
  const parts = partsOf(text, map, (path) => basename(path))
  const costOf = (name: string) => parts.find(({ origin }) => origin === name)?.gzipBytes
  expect(costOf('other.js')).toBeGreaterThan(gzipSync(said).length / 2)
  // Without the one, the other still says it.
  expect(costOf('one.js')).toBeLessThan(100)
})
