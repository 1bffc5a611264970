// npm run size: what `wrangler deploy` would upload, by package and by room (`-- --files`: by file). `npm run check`
// holds its size.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { root, runNode, tools } from './toolchain.mjs'
import { partsOf } from './upload-parts.mjs'

/**
 * KiB of the upload, compressed by this Node. A bigger upload fails, and a smaller one: then this is lowered.
 * 634 since routes declare their replies and summaries where they are handled (docs/decisions/0113).
 */
const uploadGzipKib = 634
/** How far from it the upload may be. */
const tolerance = 0.01

const kib = (sizeBytes) => sizeBytes / 1024
const shown = (sizeBytes) => kib(sizeBytes).toFixed(1).padStart(8)

/** Arguments of the dry run that `measureUpload` reads. */
export const dryRun = (folder) => ['deploy', '--dry-run', '--metafile', '--outdir', folder]

/** Size of every module of the dry run, without source maps, and what is wrong with it. */
export function measureUpload(folder) {
  const modules = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.map$|\.json$|README\.md$/.test(entry.name))
    .map((entry) => readFileSync(join(entry.parentPath ?? entry.path, entry.name)))
  const sum = (sizes) => sizes.reduce((total, size) => total + size, 0)
  const rawBytes = sum(modules.map((bytes) => bytes.length))
  const gzipBytes = sum(modules.map((bytes) => gzipSync(bytes, { level: 6 }).length))
  const limits = { lower: uploadGzipKib * (1 - tolerance), upper: uploadGzipKib * (1 + tolerance) }
  const isWithin = kib(gzipBytes) >= limits.lower && kib(gzipBytes) <= limits.upper
  return {
    rawBytes,
    gzipBytes,
    problem: isWithin
      ? undefined
      : `upload: ${kib(gzipBytes).toFixed(1)} KiB gzip are not ${uploadGzipKib} ± 1 %: see \`npm run size\`, ` +
        'and change uploadGzipKib (scripts/upload-size.mjs) only with a reason',
  }
}

/** Where a module of the bundle is from: a package, a room of `src/`, or another folder. */
function originOf(path) {
  if (path === '') return 'the bundler'
  const inPackage = /^.*(?:node_modules|trimmed\.gen)\//.exec(path)?.[0] ?? ''
  const parts = path
    .slice(inPackage.length)
    .replace(/^(?:\.\.\/)+/, '')
    .split('/')
  if (inPackage === '') return parts[0] === 'src' ? parts.slice(0, 3).join('/') : parts[0]
  return parts[0].startsWith('@') ? parts.slice(0, 2).join('/') : parts[0]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = join(root, 'dist')
  const { code, output } = await runNode([tools.wrangler, ...dryRun(folder)], { capture: true })
  if (code !== 0) throw new Error(output.trim())
  const { rawBytes, gzipBytes } = measureUpload(folder)
  const read = (name) => readFileSync(join(folder, name), 'utf8')
  const byFile = process.argv.includes('--files')
  const nameOf = byFile ? (path) => path.replace(/^(?:\.\.\/)+/, '') : originOf
  console.log('KiB minified, KiB less of the compressed whole without it')
  for (const part of partsOf(read('index.js'), JSON.parse(read('index.js.map')), nameOf))
    console.log(`${shown(part.rawBytes)}${shown(part.gzipBytes)}  ${part.origin}`)
  console.log(`${shown(rawBytes)}${shown(gzipBytes)}  in all`)
}
