// Writes src/trimmed.gen/zod/index.js: zod in one module, with the names that src/ imports and without the formats of
// text that src/ does not use. `[alias]` in wrangler.toml puts it in the place of the package's own, which is many
// modules and cannot be cut file by file: two of its folders have files of the same names
// (docs/decisions/0064-packages-without-what-is-not-used.md).
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createGenerated } from './generated.mjs'
import { root, toolFile } from './toolchain.mjs'

/**
 * The names that our own code and the packages of MCP import. `toJSONSchema` throws that it is left out
 * (src/platform/shims/zod.ts).
 */
export const names = [
  'NEVER',
  'ZodError',
  'ZodExactOptional',
  'ZodIssueCode',
  'ZodObject',
  'ZodOptional',
  'ZodType',
  'any',
  'array',
  'base64',
  'boolean',
  'coerce',
  'custom',
  'discriminatedUnion',
  'email',
  'enum',
  'int',
  'intersection',
  'iso',
  'json',
  'lazy',
  'literal',
  'looseObject',
  'null',
  'number',
  'object',
  'optional',
  'partialRecord',
  'prettifyError',
  'preprocess',
  'record',
  'safeParse',
  'strictObject',
  'string',
  'stringbool',
  'toJSONSchema',
  'tuple',
  'union',
  'unknown',
  'url',
]

/** What `z.string()` has for formats that are asked for by a name of their own, if at all: `z.email()`. */
export const formats = [
  'email',
  'jwt',
  'emoji',
  'guid',
  'uuid',
  'uuidv4',
  'uuidv6',
  'uuidv7',
  'nanoid',
  'cuid',
  'cuid2',
  'ulid',
  'base64',
  'base64url',
  'xid',
  'ksuid',
  'ipv4',
  'ipv6',
  'cidrv4',
  'cidrv6',
  'e164',
  'datetime',
  'date',
  'time',
  'duration',
]

/** Methods of schemas that nothing calls, by their class: many bring a class or a check of their own. */
export const methods = {
  ZodType: [
    'brand',
    'overwrite',
    'nonoptional',
    'and',
    'isOptional',
    'isNullable',
    'safeEncode',
    'safeDecode',
  ],
  _ZodString: ['nonempty', 'lowercase', 'uppercase', 'slugify'],
  ZodString: formats,
  ZodNumber: [
    'gt',
    'gte',
    'lt',
    'lte',
    'safe',
    'negative',
    'nonpositive',
    'multipleOf',
    'step',
    'finite',
  ],
  ZodObject: ['keyof', 'passthrough', 'safeExtend', 'omit', 'exactPartial', 'required'],
  ZodArray: ['nonempty'],
}

/** The functions of `z.coerce` that our code uses: each brings the class of its type. */
export const coercions = ['number']

const script = fileURLToPath(import.meta.url)
const schemas = toolFile('zod', 'v4', 'classic', 'schemas.js')
const errors = toolFile('zod', 'v4', 'classic', 'errors.js')
const coerce = toolFile('zod', 'v4', 'classic', 'coerce.js')
const shims = join(root, 'src', 'platform', 'shims', 'zod.ts')

/** Replaces what must be there just once. */
function once(text, from, to) {
  if (text.split(from).length !== 2) throw new Error(`zod is written otherwise: ${from}`)
  return text.replace(from, () => to)
}

/** The module of the classes, as it is bundled. */
function trimSchemas() {
  // A name of the whole table would bring all of the table.
  let text = once(
    readFileSync(schemas, 'utf8'),
    'import { util } from "../core/index.js";',
    'import * as util from "../core/util.js";',
  )
  text = once(text, 'core.util.constantCatch', 'util.constantCatch')
  // ZodObjectJIT compiles its parser with `new Function`, which a Worker forbids: there it falls back to ZodObject.
  text = once(text, 'core.$ZodObjectJIT.init(', 'core.$ZodObject.init(')
  for (const [owner, list] of Object.entries(methods)) text = cutMethods(text, owner, list)
  return `${text}\n${leftOut}`
}

const leftOut =
  'function leftOut_() { throw new Error("This method of zod is not in the upload: see scripts/generate-zod.mjs (z.email() is, for z.string().email())") }\n'

/** A class's table of methods with a function that says so in the place of each of these. */
function cutMethods(text, owner, list) {
  const begin = text.indexOf(`export const ${owner} = `)
  const end = begin + /\n\}\)?\);/.exec(text.slice(begin)).index
  let table = text.slice(begin, end)
  for (const name of list) {
    const [method] = new RegExp(`\\n    ${name}\\(.*\\) \\{\\n(?: {8}.*\\n)+    \\},`).exec(
      table,
    ) ?? ['?']
    table = once(table, method, `\n    ${name}: leftOut_,`)
  }
  return text.slice(0, begin) + table + text.slice(end)
}

/** `z.coerce`, as it is bundled: its functions are four lines each. */
function trimCoerce() {
  const functions = readFileSync(coerce, 'utf8').split(/(?=^export function )/m)
  const kept = functions.filter((text, index) =>
    index === 0 ? true : coercions.includes(/^export function (\w+)/.exec(text)?.[1]),
  )
  if (kept.length !== coercions.length + 1) throw new Error('zod is written otherwise: z.coerce')
  return kept.join('')
}

/**
 * The errors, as they are bundled. Our code reads them by `prettifyError` or their `issues`, so the other formatters
 * go.
 */
function trimErrors() {
  const text = once(readFileSync(errors, 'utf8'), 'core.formatError(self, mapper)', 'leftOut_()')
  return `${once(text, 'core.flattenError(self, mapper)', 'leftOut_()')}\n${leftOut}`
}

/** The module's text and what it was made of; the same package gives the same bytes. */
async function bundle() {
  const { build } = createRequire(import.meta.url)(toolFile('esbuild', 'lib', 'main.js'))
  const of = (from, list) => `export { ${list.join(', ')} } from ${JSON.stringify(from)}\n`
  const absent = ['toJSONSchema']
  const kept = names.filter((name) => !absent.includes(name))
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    stdin: { contents: of('zod', kept) + of(shims, absent), resolveDir: root },
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    legalComments: 'none',
    metafile: true,
    plugins: [
      {
        name: 'trimmed',
        setup({ onResolve, onLoad }) {
          // The writer of JSON Schema, of which each class would bring its part.
          onResolve(
            { filter: /^\.\.\/core\/(?:json-schema-processors|to-json-schema)\.js$/ },
            () => ({
              path: shims,
            }),
          )
          onLoad({ filter: /[/\\]classic[/\\]schemas\.js$/ }, () => ({ contents: trimSchemas() }))
          onLoad({ filter: /[/\\]classic[/\\]errors\.js$/ }, () => ({ contents: trimErrors() }))
          onLoad({ filter: /[/\\]classic[/\\]coerce\.js$/ }, () => ({ contents: trimCoerce() }))
        },
      },
    ],
  })
  const text = `// Written by scripts/generate-zod.mjs from zod: do not edit.\n${outputFiles[0].text}`
  return { text, sources: Object.keys(metafile.inputs).filter((path) => path !== '<stdin>') }
}

/** Runs in a process of its own: esbuild replaces modules while it bundles, and the caller is synchronous. */
function make() {
  const told = execFileSync(process.execPath, [script], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  const { text, sources } = JSON.parse(told)
  return { files: new Map([[join(root, 'src', 'trimmed.gen', 'zod', 'index.js'), text]]), sources }
}

export const zodFile = createGenerated({ name: 'zod', scripts: ['scripts/generate-zod.mjs'], make })

// Not where this is part of another script, as in the package of the command.
if (process.argv[1] === script && script.endsWith('generate-zod.mjs'))
  process.stdout.write(JSON.stringify(await bundle()))
