// Writes assets/archive-reader.js, what reads a zip in an isolate of its own, and src/archive-reader.gen.ts, which pins
// it: the Worker runs the text with this hash and no other (docs/decisions/0059-a-zip-is-read-in-an-isolate.md).
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createGenerated } from './generated.mjs'
import { root, toolFile } from './toolchain.mjs'

const name = 'archive-reader.js'
const asset = join(root, 'assets', name)
const pin = join(root, 'src', 'archive-reader.gen.ts')

/** Both files; the same sources give the same bytes. */
function generateArchiveReader() {
  const { buildSync } = createRequire(import.meta.url)(toolFile('esbuild', 'lib', 'main.js'))
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: ['src/features/plugins/admission/inside/archive-entry.ts'],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:workers'],
    legalComments: 'none',
    metafile: true,
  })
  const code = outputFiles[0].text
  const sha256 = createHash('sha256').update(code).digest('hex')
  const text = [
    '// Written by scripts/generate-archive-reader.mjs: do not edit.',
    `export const archiveReader = { path: '/${name}', sha256: '${sha256}' }`,
    '',
  ].join('\n')
  const files = new Map([
    [asset, code],
    [pin, text],
  ])
  return { files, sources: Object.keys(metafile.inputs) }
}

export const archiveReader = createGenerated({
  name: 'archive-reader',
  scripts: ['scripts/generate-archive-reader.mjs'],
  make: generateArchiveReader,
})
