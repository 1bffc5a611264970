// Writes src/isolate.gen.ts: our own modules inside every isolate, as text. They are TypeScript files of this
// repository without their types, so what an author imports as `isola/plugin` is what runs.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createGenerated } from './generated.mjs'
import { root, toolFile } from './toolchain.mjs'

/** Each module by the name it has in an isolate; all at the top, since workerd reads a bare name from the folder of the
 * module that has it. */
const sources = {
  'entry.ts': 'src/features/plugins/sandbox/inside/entry.ts',
  'prelude.ts': 'src/features/plugins/sandbox/inside/prelude.ts',
  'capabilities.ts': 'src/features/plugins/sandbox/inside/capabilities.ts',
  'load.ts': 'src/features/plugins/sandbox/inside/load.ts',
  'hook-batch.ts': 'src/features/plugins/sandbox/hook-batch.ts',
  'request-shorthand.ts': 'src/features/plugins/sandbox/request-shorthand.ts',
  'json-border.ts': 'src/features/plugins/sandbox/json-border.ts',
  'secrets/placeholder.ts': 'src/features/plugins/secrets/placeholder.ts',
  'isola/plugin': 'src/features/plugins/types/plugin.ts',
}

/** The same where code that a model wrote runs. */
const modelSources = {
  'entry.ts': 'src/features/plugins/sandbox/inside/model-entry.ts',
  'json-border.ts': 'src/features/plugins/sandbox/json-border.ts',
}

const toModules = (files) =>
  Object.fromEntries(Object.entries(files).map(([name, path]) => [name, toModule(path)]))

/** The TypeScript without its types, minified: it is read by machines alone. */
function toModule(path) {
  const { transformSync } = createRequire(import.meta.url)(toolFile('esbuild', 'lib', 'main.js'))
  const code = readFileSync(join(root, path), 'utf8')
  const options = { loader: 'ts', format: 'esm', target: 'es2024', minify: true }
  return transformSync(code, options).code.replaceAll(/"(?:\.\.\/)+/g, '"./')
}

/** The module's text; the same files give the same bytes. */
function generateIsolate() {
  const modules = toModules(sources)
  const modelModules = toModules(modelSources)
  const version = createHash('sha256')
    .update(JSON.stringify([modules, modelModules]))
    .digest('hex')
  return [
    '// Written by scripts/generate-isolate.mjs from src/features/plugins/sandbox/inside/: do not edit.',
    `export const isolateModules: Readonly<Record<string, string>> = ${JSON.stringify(modules, null, 2)}`,
    `export const modelModules: Readonly<Record<string, string>> = ${JSON.stringify(modelModules, null, 2)}`,
    `export const isolateVersion = ${JSON.stringify(version)}`,
    '',
  ].join('\n')
}

export const isolate = createGenerated({
  name: 'isolate',
  scripts: ['scripts/generate-isolate.mjs'],
  make: () => ({
    files: new Map([[join(root, 'src', 'isolate.gen.ts'), generateIsolate()]]),
    sources: [...Object.values(sources), ...Object.values(modelSources)],
  }),
})
