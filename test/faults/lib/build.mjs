// Builds the Worker under test: the product's sources with a failpoint at each await of its run path.
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { instrument } from './instrument.mjs'

const here = dirname(fileURLToPath(import.meta.url))
export const root = join(here, '..', '..', '..')

// By path, since the product under test may be another folder.
const { build: esbuild } = (
  await import(pathToFileURL(join(root, 'node_modules', 'esbuild', 'lib', 'main.js')).href)
).default

const byName = (a, b) => a.localeCompare(b)

/** The rooms whose awaits are the run path. */
const rooms = ['runtime/context', 'runtime/kernel', 'runtime/session']
const entryName = 'faults-entry'

/** Variants that break a protection on purpose: the harness must notice. */
const sabotage = {
  none: (text) => text,
  /** Acknowledges before anything is durable. */
  'no-sync': (text) => text.replace(/\b(?:this\.ctx\.)?storage\.sync\(\)/g, 'Promise.resolve()'),
}

/**
 * @param options.product Folder with `src/`, `plugins/` and `package.json`.
 * @returns The module's text and the names of its failpoints.
 */
export async function buildWorker({ product = root, variant = 'none' } = {}) {
  const points = []
  const result = await esbuild({
    stdin: {
      contents: entryFor(product),
      loader: 'ts',
      resolveDir: product,
      sourcefile: entryName,
    },
    bundle: true,
    // A smaller module starts sooner, and a process starts hundreds of times.
    minifyWhitespace: true,
    minifySyntax: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser', 'import'],
    external: ['cloudflare:*', 'node:*', 'workerd:*'],
    logLevel: 'silent',
    plugins: [rewiring({ product, variant, points })],
  })
  return { text: result.outputFiles[0].text, points: points.toSorted(byName) }
}

/** Every Durable Object class of the deployment, watched. */
function entryFor(product) {
  const classes = [
    ...readFileSync(join(product, 'wrangler.toml'), 'utf8').matchAll(/class_name\s*=\s*"(\w+)"/g),
  ].map(([, name]) => name)
  return [
    `import * as product from ${JSON.stringify(join(product, 'src/index.ts'))}`,
    `import { controlled, watched } from ${JSON.stringify(join(here, 'worker.ts'))}`,
    ...classes.map((name) => `export class ${name} extends watched(product.${name}, '${name}') {}`),
    'export default controlled(product.default)',
  ].join('\n')
}

function rewiring({ product, variant, points }) {
  const source = join(product, 'src')
  return {
    name: 'faults',
    setup(build) {
      // What this folder imports of the product is the product that is built.
      build.onResolve({ filter: /^(\.\.\/)+src\// }, ({ path }) => ({
        path: join(product, path.replace(/^(\.\.\/)+/, '')),
      }))
      build.onResolve({ filter: /^\.\/compose\/composition\.ts$/ }, ({ importer }) =>
        importer === join(source, 'index.ts') ? { path: join(here, 'composition.ts') } : undefined,
      )
      build.onResolve({ filter: /^\.\.?\/bundled\.gen\.ts$/ }, () => ({
        path: join(here, 'bundled.ts'),
      }))
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const inside = relative(source, path)
        const room = inside.split('/').slice(0, 2).join('/')
        // What handlers of routes share runs in the Worker, not on the path of a run.
        if (!rooms.includes(room) || inside.includes('/requests/')) return undefined
        const file = inside.replace(/\.ts$/, '')
        const { text, names } = instrument(sabotage[variant](readFileSync(path, 'utf8')), {
          file,
          runtime: join(here, 'failpoint.ts'),
        })
        points.push(...names)
        return { contents: text, loader: 'ts' }
      })
    },
  }
}
