// Lets a test import a plugin's folder as an author would send it: `isolated:plugins/kv` has its manifest and its code
// as one module. Bundled in Node, since a Worker has no bundler.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parse } from 'yaml'
import { root, toolFile } from '../../scripts/toolchain.mjs'

const prefix = 'isolated:'

/** @returns Manifest, code and hash of a plugin's folder. */
function bundleFolder(folder) {
  const { buildSync } = createRequire(import.meta.url)(toolFile('esbuild', 'lib', 'main.js'))
  const manifestText = readFileSync(join(root, folder, 'plugin.yaml'), 'utf8')
  const manifest = parse(manifestText)
  const { outputFiles } = buildSync({
    entryPoints: [join(root, folder, manifest.entrypoint)],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    external: ['isola/plugin'],
  })
  const code = outputFiles[0].text
  const hash = createHash('sha256')
    .update(JSON.stringify([manifestText, code]))
    .digest('hex')
  return { manifest, code, hash }
}

/** A Vite plugin. */
export const isolatedCode = () => ({
  name: 'isolated-code',
  resolveId: (id) => (id.startsWith(prefix) ? `\0${id}` : undefined),
  load: (id) =>
    id.startsWith(`\0${prefix}`)
      ? `export default ${JSON.stringify(bundleFolder(id.slice(prefix.length + 1)))}`
      : undefined,
})
