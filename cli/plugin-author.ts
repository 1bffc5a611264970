// isola plugin new|build|test|add|sign: what its author does with a plugin.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Request } from '../src/client/client.ts'
import { defined } from '../src/contracts/defined.ts'
import type { PluginBundle } from '../src/runtime/catalog/types/plugin-upload.ts'
import { at } from './author-files.ts'
import { verb } from './command.ts'
import { flag, rehearsal, text, UsageError } from './options.ts'
import { lineOf, nextOfUpdate, toolsOf, type Plugin } from './plugin-view.ts'
import { signText } from './trust.ts'
import { scaffold } from './plugin-new.ts'
import { lines, short } from './text.ts'

/** Loaded when it is needed: it reads the manifest with the server's own code, which is TypeScript. */
const builder = () => import('./plugin-build.ts')
const kilobytes = (text: string) => `${(Buffer.byteLength(text) / 1024).toFixed(1)} KB`

const typer = () => import('./plugin-types.ts')

/** The content of a file of `isola plugin build` or `sign`. */
interface Built {
  readonly bundle: PluginBundle
  readonly signature?: unknown
  readonly source?: unknown
}

/** Never over a file that is something else. */
function write(target: string, { bundle, signature, source }: Built) {
  if (existsSync(target) && !isBundle(readFileSync(target, 'utf8')))
    throw new Error(`--out: ${target} is there, and is no bundle. Name another file.`)
  writeFileSync(target, `${JSON.stringify({ bundle, signature, source })}\n`)
}

function isBundle(text: string) {
  try {
    return Object.hasOwn(JSON.parse(text), 'bundle')
  } catch {
    return false
  }
}

/** Beside the files that are there already; a plugin.yaml of another origin is source code and stays. */
function writeFolder(target: string, files: Readonly<Record<string, string>>) {
  const yaml = join(target, 'plugin.yaml')
  if (existsSync(yaml) && !readFileSync(yaml, 'utf8').startsWith('# Written by'))
    throw new Error(`--out: ${yaml} is not one that \`isola plugin build\` wrote.`)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(target, name)), { recursive: true })
    writeFileSync(join(target, name), text)
  }
}

/** The upload for an argument of `add`: a URL, a zip, a bundle, or a folder. */
async function toUpload(asked: string): Promise<Upload> {
  if (/^https?:\/\//.test(asked)) return { url: asked }
  const given = at(asked)
  const { buildFolder, isFolder, readBundleFile } = await builder()
  if (isFolder(given)) {
    const { bundle } = await buildFolder(given)
    return { bundle, source: `folder ${basename(resolve(given))}` }
  }
  if (!existsSync(given))
    throw new Error(`${given} is none of: a plugin's folder, a .zip, a .isola.json, a URL.`)
  if (given.endsWith('.zip')) {
    const { readArchive } = await import('../src/features/plugins/admission/read-archive.ts')
    // The same as the server's, which reads one only where it has isolates.
    return { bundle: readArchive(readFileSync(given)), source: basename(given) }
  }
  const { bundle, signature, source = basename(given) } = readBundleFile(given)
  return { bundle, ...defined({ signature }), source }
}

type Upload = Exclude<Request<'POST /api/operator/plugins'>['body'], Blob>

const noteLines = (notes: readonly string[]) => notes.map((note) => `note: ${short(note, 1_000)}`)

function told(plugin: Plugin, notes: readonly string[]) {
  const { id, version, state, update } = plugin
  // A version that waits beside the one in use: both, by their versions.
  if (update && state === 'enabled') {
    const asks = update.missing.map(({ text }) => short(text, 400)).join('; ')
    return lines(
      `${id} ${version} goes on. ${update.version} (hash ${update.hash}) ` +
        `waits${asks ? `: it asks for ${asks}` : ' for you to take it into use'}.`,
      // The line above already says that it waits, and why.
      noteLines(notes.filter((note) => !/, so it waits| goes on: isola /.test(note))),
      nextOfUpdate(id, update),
    )
  }
  const grant = plugin.lines.length === 0 ? '' : `isola plugin grant ${id}, then `
  return lines(
    `${id} ${version} (${plugin.tier}) is ${state}.`,
    `hash ${plugin.hash}`,
    toolsOf(plugin.manifest),
    plugin.lines.length === 0 ? 'It asks for nothing.' : 'It asks for:',
    plugin.lines.map(lineOf),
    noteLines(notes),
    '',
    state === 'enabled'
      ? 'It holds for every run that begins from now on.'
      : `Next: ${grant}isola plugin enable ${id}`,
  )
}

export const authorVerbs = {
  new: verb({
    usage: '<folder> [--agent | --hook]',
    about: 'A folder with a plugin that works, and a test of it. Its name is the plugin’s id.',
    options: {
      agent: flag('an agent instead of a tool'),
      hook: flag('a hook instead of a tool'),
    },
    async run({ args: [folder], values, print }) {
      if (values.agent && values.hook) throw new UsageError('--agent and --hook: give one of them.')
      const kind = values.agent ? 'agent' : values.hook ? 'hook' : 'tool'
      const scaffolded = scaffold(at(folder), kind)
      const { writeTypes } = await typer()
      const files = [...scaffolded, ...(await writeTypes(at(folder)))]
      const next = [`isola plugin test ${folder}`, `isola plugin add ${folder}`]
      print({ folder, files }, `${folder}: ${files.join(', ')}\n\nNext: ${next.join(', then ')}`)
    },
  }),
  types: verb({
    usage: '<folder>',
    about:
      'Writes types/ of the folder: the plugin API, and the inputs of its tools from their schemas. Again ' +
      'after a change of a schema.',
    async run({ args: [folder], print }) {
      const { writeTypes } = await typer()
      const files = await writeTypes(at(folder))
      print({ folder, files }, `${folder}: ${files.join(', ')}`)
    },
  }),
  build: verb({
    usage: '<folder> [--out <file>]',
    about:
      'One file with everything in it, packages too: <id>-<version>.isola.json. Its module is bundled, not ' +
      'run; for `schemas` it runs without network, files and settings.',
    options: {
      out: text('file', 'another name; a .zip, or a folder (ends with /), for who serves one'),
    },
    async run({ args: [asked], values, print }) {
      const folder = at(asked)
      const { buildFolder, fileNameOf, filesOf, zipOf } = await builder()
      const { bundle, manifest, hash } = await buildFolder(folder)
      const out = values.out ?? fileNameOf(manifest)
      if (out.endsWith('/')) writeFolder(at(out), filesOf(bundle))
      else if (out.endsWith('.zip')) writeFileSync(at(out), await zipOf(filesOf(bundle)))
      else write(at(out), { bundle })
      const { id, version } = manifest
      const { code } = bundle
      const size = code === undefined ? 'no code' : `code ${kilobytes(code)}`
      print(
        { file: out, id, version, hash, codeChars: code?.length ?? 0 },
        `${out}: ${id} ${version}, ${size}\nhash ${hash}`,
      )
    },
  }),
  test: verb({
    usage: '<folder>',
    about: [
      'Runs the tests of the folder in both hosts. They and the plugin run in workerd, without network, files ' +
        'and settings of this machine;',
      'what a host answers is faked by a test: plugin.call(tool, input, { fetch }). As code of the folder ' +
        'nothing else runs: no configuration of vite,',
      'vitest or esbuild, no script of package.json. tsconfig.json and package.json are read. What `npm ' +
        'install` runs there is up to you: --ignore-scripts.',
    ].join('\n'),
    async run({ args: [folder], ...io }) {
      const { testFolder } = await import('./plugin-test.ts')
      return testFolder(at(folder), io)
    },
  }),
  sign: verb({
    usage: '<folder or bundle> --key <file> [--out <file>]',
    about: 'Signs it with a key of `isola trust new`.',
    options: {
      key: text('file', 'your private key'),
      out: text('file', 'where the signed bundle goes'),
    },
    async run({ args: [asked], values, print }) {
      const given = at(asked)
      if (values.key === undefined)
        throw new UsageError('--key: name the file of your private key.')
      const { fileNameOf, isFile, readFolderOrBundle, signedTextOf } = await builder()
      const { bundle, manifest, hash, source } = await readFolderOrBundle(given)
      const signature = signText(signedTextOf({ manifest, hash }), values.key)
      const out = values.out ?? (isFile(given) ? given : fileNameOf(manifest))
      write(at(out), { bundle, signature, source })
      print(
        { file: out, id: manifest.id, hash, signature },
        `${out}: ${manifest.id} ${manifest.version}, signed by ${signature.key}\nhash ${hash}`,
      )
    },
  }),
  add: verb({
    usage:
      '<folder, .zip, .isola.json or URL> [--allow-downgrade] [--replace] [--take-over] [--now] [--dry-run]',
    about:
      'Installs a version, which enables nothing. A folder is built first; nothing of it is run here.',
    options: {
      'allow-downgrade': flag('an older version than the one that is there'),
      replace: flag('other content under a version number that is known'),
      now: flag('also one that asks for more: it is off until that is granted'),
      'take-over': flag("with what another author's plugin of this id kept; for operators"),
      ...rehearsal,
    },
    async run({ args: [given], values, ask, print, sent }) {
      const upload = await toUpload(given)
      const more = sent()
      if (values['dry-run']) {
        const { bundle, ...where } = upload
        const manifest = Object(Object(bundle).manifest)
        const what = bundle === undefined ? given : `${manifest.id} ${manifest.version} of ${given}`
        return print(
          { ...where, ...more, manifest: bundle && manifest },
          lines(`Would be sent: ${what}.`, toolsOf(manifest)),
        )
      }
      const answer = await ask('POST /api/operator/plugins', { ...upload, ...more })
      const { plugin, notes } = answer
      print(answer, plugin ? told(plugin, notes) : notes.join('\n'))
    },
  }),
} as const
