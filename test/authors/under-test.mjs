// A Vite plugin: the folder of ISOLA_PLUGIN_FOLDER as modules. `under-test:plugin` is its bundle, `under-test:code` its
// code, `under-test:tests` the author's tests, bundled too: a folder outside of this clone finds no packages here.
import { createRequire } from 'node:module'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { buildFolder } from '../../scripts/isola/plugin-build.mjs'
import { root, toolFile } from '../../scripts/toolchain.mjs'

const prefix = 'under-test:'

function bundleTests(folder) {
  const { buildSync } = createRequire(import.meta.url)(toolFile('esbuild', 'lib', 'main.js'))
  const files = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .toSorted((a, b) => (a < b ? -1 : 1))
  const contents = files.map((name) => `import ${JSON.stringify(`./${name}`)}`).join('\n')
  const { outputFiles } = buildSync({
    absWorkingDir: folder,
    stdin: { contents, resolveDir: folder, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    external: ['vitest', 'isola/testing', 'isola/plugin'],
  })
  return outputFiles[0].text
}

/** @param host `in-process` or `isolate`. */
export function underTest(host, folder) {
  const built = buildFolder(folder)
  const modules = {
    plugin: async () => {
      const { bundle, hash } = await built
      return `export const host = ${JSON.stringify(host)}
        export const bundle = ${JSON.stringify(bundle)}
        export const hash = ${JSON.stringify(hash)}`
    },
    code: async () => (await built).bundle.code ?? 'export default undefined',
    tests: async () => bundleTests(folder),
    // What the Worker carries: the Runner finds the code of the isolate here.
    bundled: async () => {
      const { bundle, hash } = await built
      const isolated = { code: bundle.code ?? '', tier: 'community', grantEpoch: 0 }
      const { manifest, files } = bundle
      return `export const bundledPlugins = ${JSON.stringify([{ manifest, files, hash, isolated }])}`
    },
  }
  return {
    name: 'plugin-under-test',
    enforce: 'pre',
    resolveId(id) {
      if (id === 'isola/plugin') return join(root, 'src', 'contracts', 'plugin.ts')
      if (id === 'isola/testing') return join(root, 'test', 'authors', 'testing.ts')
      if (/(^|\/)bundled\.gen\.ts$/.test(id) && host === 'isolate') return `\0${prefix}bundled`
      return id.startsWith(prefix) ? `\0${id}` : undefined
    },
    load: (id) =>
      id.startsWith(`\0${prefix}`) ? modules[id.slice(prefix.length + 1)]() : undefined,
  }
}
