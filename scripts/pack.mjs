// npm pack: makes packed/, the command and the embedded agent as JavaScript with types. Node takes no types out of what
// is in node_modules.
import { execFileSync } from 'node:child_process'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { built, sources } from '../cli/author-files.ts'
import { writeTypes } from './pack-types.mjs'
import { root, toolFile, toolNode, tools } from './toolchain.mjs'

const { build } = createRequire(import.meta.url)(toolFile('esbuild', 'lib', 'main.js'))
const folder = join(root, 'packed')
const common = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  legalComments: 'eof',
  logLevel: 'warning',
}

rmSync(folder, { recursive: true, force: true })
// One file: nothing of it is loaded by a path but these packages, which its package.json names.
await build({
  ...common,
  entryPoints: ['scripts/isola.mjs'],
  outfile: 'packed/isola.mjs',
  platform: 'node',
  target: 'node22',
  // `deploy` and most of `doctor` are about a clone, and say so.
  external: ['wrangler'],
  // Packages that are CommonJS ask for Node's builtins so.
  banner: {
    js: "import { createRequire as requireFor } from 'node:module'\nconst require = requireFor(import.meta.url)",
  },
})
// Several that share what they have in common: the tests must meet the same `vitest` as the Worker that runs them.
await build({
  ...common,
  entryPoints: Object.entries(sources).map(([name, path]) => ({
    in: path,
    out: basename(built[name], '.js'),
  })),
  outdir: 'packed/authors',
  splitting: true,
  platform: 'neutral',
  mainFields: ['module', 'main'],
  target: 'es2024',
  // The code under test is loaded when it is tested.
  external: ['cloudflare:*', 'node:*', 'under-test:*'],
})
// The agent for a host's own process: one file, with the packages that it needs.
await build({
  ...common,
  entryPoints: ['src/embedded/agent.ts'],
  outfile: 'packed/agent.js',
  platform: 'node',
  // As the Worker has it (wrangler.toml): what the package does before it parses takes the square of a text.
  alias: { '@huggingface/jinja': join(root, 'src/trimmed.gen/@huggingface/jinja/dist/index.js') },
  target: 'node20',
})
// A client for programs: Node, Workers, browsers. It has types of the contracts and none of their schemas.
await build({
  ...common,
  entryPoints: ['src/client/client.ts'],
  outfile: 'packed/client.js',
  platform: 'neutral',
  target: 'es2022',
})
writeTypes({ entries: ['embedded/agent.ts', 'client/client.ts'], folder: join(folder, 'types') })
const declarations = ['--declaration', '--emitDeclarationOnly', '--outDir', folder]
const options = ['--ignoreConfig', '--target', 'es2024', '--types', '']
const api = join(root, sources['isola/plugin'])
execFileSync(toolNode(), [tools.tsc, ...declarations, ...options, api])
writeFileSync(join(folder, 'plugin.js'), "export * from './authors/plugin.js'\n")
copyFileSync(join(root, 'test', 'authors', 'isola-testing.d.ts'), join(folder, 'testing.d.ts'))
