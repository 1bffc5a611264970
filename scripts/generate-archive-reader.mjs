// Writes assets/archive-reader.js, what reads a zip in an isolate of its own, and src/archive-reader.gen.ts, which pins
// it: the Worker runs the text with this hash and no other (docs/decisions/0059-a-zip-is-read-in-an-isolate.md).
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { root, toolFile } from './toolchain.mjs'

const name = 'archive-reader.js'
const asset = join(root, 'assets', name)
const pin = join(root, 'src', 'archive-reader.gen.ts')

/** @returns Both files by their paths; the same sources give the same bytes. */
function generateArchiveReader() {
  const { buildSync } = createRequire(import.meta.url)(toolFile('esbuild', 'lib', 'main.js'))
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: ['src/plugins/admission/inside/archive-entry.ts'],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:workers'],
    legalComments: 'none',
  })
  const code = outputFiles[0].text
  const sha256 = createHash('sha256').update(code).digest('hex')
  const text = [
    '// Written by scripts/generate-archive-reader.mjs: do not edit.',
    `export const archiveReader = { path: '/${name}', sha256: '${sha256}' }`,
    '',
  ].join('\n')
  return new Map([
    [asset, code],
    [pin, text],
  ])
}

const isAsIs = ([path, text]) => existsSync(path) && readFileSync(path, 'utf8') === text

export const isArchiveReaderCurrent = () => [...generateArchiveReader()].every(isAsIs)

/** Brings both up to date; an unchanged file keeps its time. */
export function updateArchiveReader() {
  for (const file of generateArchiveReader()) {
    if (isAsIs(file)) continue
    mkdirSync(dirname(file[0]), { recursive: true })
    writeFileSync(...file)
  }
}
