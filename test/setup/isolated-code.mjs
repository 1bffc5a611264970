// Lets a test import a plugin's folder as an author would send it: `isolated:plugins/kv` has its manifest and its code
// as one module, `built:test/fixtures/third-party/tickets` is the bundle that `isola plugin build` makes of a folder.
// Bundled in Node, since a Worker has no bundler.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'yaml'
import { root, toolFile } from '../../scripts/toolchain.mjs'

const prefix = 'isolated:'
const builtPrefix = 'built:'

/** With the modules of the command, which are TypeScript: loaded as files, past Vite's own bundling of its config. */
async function buildFolder(folder) {
  const builder = pathToFileURL(join(root, 'cli', 'plugin-build.ts')).href
  const { bundle } = await (await import(builder)).buildFolder(join(root, folder))
  return bundle
}

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

const folderOf = (id, start) => (id.startsWith(start) ? id.slice(start.length) : undefined)

/** A Vite plugin. */
export const isolatedCode = () => ({
  name: 'isolated-code',
  resolveId: (id) => (id.startsWith(prefix) || id.startsWith(builtPrefix) ? `\0${id}` : undefined),
  async load(id) {
    const isolated = folderOf(id, `\0${prefix}`)
    const built = folderOf(id, `\0${builtPrefix}`)
    if (isolated !== undefined) return `export default ${JSON.stringify(bundleFolder(isolated))}`
    return built && `export default ${JSON.stringify(await buildFolder(built))}`
  },
})
