// isola plugin new|build|test|add|sign: what its author does with a plugin.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { lineOf, toolsOf } from './plugin-admin.mjs'
import { signText } from './plugin-keys.mjs'
import { scaffold } from './plugin-new.mjs'
import { UsageError } from './usage.mjs'

/** Loaded when it is needed: it reads the manifest with the server's own code, which is TypeScript. */
const builder = () => import('./plugin-build.mjs')
/** npm runs us in the clone's folder: what is relative is so to where its user stands. */
const at = (given) => resolve(process.env.INIT_CWD ?? '.', given)
const path = '/api/operator/plugins'
const kilobytes = (text) => `${(Buffer.byteLength(text) / 1024).toFixed(1)} KB`

function make({ args: [folder], values, print }) {
  if (values.agent && values.hook) throw new UsageError('--agent and --hook: give one of them.')
  const kind = values.agent ? 'agent' : values.hook ? 'hook' : 'tool'
  const files = scaffold(at(folder), kind)
  const next = [`isola plugin test ${folder}`, `isola plugin add ${folder}`]
  print({ folder, files }, `${folder}: ${files.join(', ')}\n\nNext: ${next.join(', then ')}`)
}

/** Never over a file that is something else. */
function write(target, { bundle, signature, source }) {
  writeFileSync(
    target,
    `${JSON.stringify({ bundle, ...(signature && { signature }), ...(source && { source }) })}\n`,
  )
}

async function build({ args: [asked], values, print }) {
  const folder = at(asked)
  const { buildFolder, fileNameOf } = await builder()
  const { bundle, manifest, hash } = await buildFolder(folder)
  const out = values.out ?? fileNameOf(manifest)
  write(at(out), { bundle })
  const size = kilobytes(bundle.code ?? '')
  print(
    {
      file: out,
      id: manifest.id,
      version: manifest.version,
      hash,
      codeChars: bundle.code?.length ?? 0,
    },
    `${out}: ${manifest.id} ${manifest.version}, ${bundle.code === undefined ? 'no code' : `code ${size}`}\nhash ${hash}`,
  )
}

async function sign({ args: [asked], values, print }) {
  const given = at(asked)
  if (values.key === undefined) throw new UsageError('--key: name the file of your private key.')
  const { fileNameOf, isFile, readFolderOrBundle, signedTextOf } = await builder()
  const { bundle, manifest, hash, source } = await readFolderOrBundle(given)
  const signature = signText(signedTextOf({ manifest, hash }), values.key)
  const out = values.out ?? (isFile(given) ? given : fileNameOf(manifest))
  write(at(out), { bundle, signature, source })
  print(
    { file: out, id: manifest.id, hash, signature },
    `${out}: ${manifest.id} ${manifest.version}, signed by ${signature.key}\nhash ${hash}`,
  )
}

/** The request for what was named: a URL, a zip, a bundle, or a folder. */
async function toRequest(asked) {
  if (/^https?:\/\//.test(asked)) return { json: { url: asked } }
  const given = at(asked)
  const { buildFolder, isFolder, readBundleFile } = await builder()
  if (isFolder(given)) {
    const { bundle } = await buildFolder(given)
    return { json: { bundle, source: `folder ${basename(resolve(given))}` } }
  }
  if (!existsSync(given))
    throw new Error(`${given} is none of: a plugin's folder, a .zip, a .isola.json, a URL.`)
  if (given.endsWith('.zip'))
    return { body: readFileSync(given), headers: { 'content-type': 'application/zip' } }
  const { bundle, signature, source } = readBundleFile(given)
  return {
    json: { bundle, ...(signature && { signature }), source: source ?? basename(given) },
  }
}

async function add({ args: [given], values, request, print }) {
  const sent = await toRequest(given)
  const more = {
    ...(values['allow-downgrade'] && { allowDowngrade: true }),
    ...(values['take-over'] && { takeOver: true }),
  }
  const json = sent.json && { ...sent.json, ...more }
  // A zip is the body: what is meant beside it is in the query.
  const to = json ? path : `${path}?${new URLSearchParams(more)}`
  const answer = await request(to, { method: 'POST', ...sent, ...(json && { json }) })
  const { plugin = answer, notes = [] } = answer
  print(answer, told(plugin, notes))
}

function told({ id, version, tier, state, hash, manifest, lines = [] }, notes) {
  return [
    `${id} ${version} (${tier}) is ${state}.`,
    `hash ${hash}`,
    ...toolsOf(manifest),
    lines.length === 0 ? 'It asks for nothing.' : 'It asks for:',
    ...lines.map(lineOf),
    ...notes.map((note) => `note: ${note}`),
    '',
    nextFor({ id, state, lines }),
  ].join('\n')
}

function nextFor({ id, state, lines }) {
  if (state === 'enabled') return 'It holds for every run that begins from now on.'
  const enable = `isola plugin enable ${id}`
  return `Next: ${lines.length === 0 ? '' : `isola plugin grant ${id}, then `}${enable}`
}

async function test({ args: [folder] }) {
  const { testFolder } = await import('./plugin-test.mjs')
  return testFolder(at(folder))
}

export const authorVerbs = {
  new: {
    usage: 'isola plugin new <folder> [--agent | --hook]',
    about: 'A folder with a plugin that works, and a test of it. Its name is the plugin’s id.',
    options: {
      agent: { type: 'boolean', about: 'an agent instead of a tool' },
      hook: { type: 'boolean', about: 'a hook instead of a tool' },
    },
    run: make,
  },
  build: {
    usage: 'isola plugin build <folder> [--out <file>]',
    about: 'One file with everything in it, packages too: <id>-<version>.isola.json.',
    options: { out: { type: 'string', value: 'file', about: 'another name for it' } },
    run: build,
  },
  test: {
    usage: 'isola plugin test <folder>',
    about: 'Runs the tests of the folder in both hosts, in workerd.',
    run: test,
  },
  sign: {
    usage: 'isola plugin sign <folder or bundle> --key <file> [--out <file>]',
    about: 'Signs it with a key of `isola trust new`.',
    options: {
      key: { type: 'string', value: 'file', about: 'your private key' },
      out: { type: 'string', value: 'file', about: 'where the signed bundle goes' },
    },
    run: sign,
  },
  add: {
    usage: 'isola plugin add <folder, .zip, .isola.json or URL> [--allow-downgrade] [--take-over]',
    about: 'Installs a version, which enables nothing.',
    options: {
      'allow-downgrade': { type: 'boolean', about: 'an older version than the one that is there' },
      'take-over': {
        type: 'boolean',
        about: "with what somebody else's plugin of this id kept; for operators",
      },
    },
    run: add,
  },
}
