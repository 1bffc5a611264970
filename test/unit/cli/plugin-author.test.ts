import { execFileSync } from 'node:child_process'
import {
  cpSync,
  mkdtempSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { toSignedText } from '#runtime/catalog/types/plugin-upload.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import { readUpload } from '../../../src/features/plugins/admission/read-upload.ts'
import { verifySignature } from '../../../src/features/plugins/admission/upload-reader.ts'
import { main } from '../../../cli/main.ts'
import { buildFolder } from '../../../cli/plugin-build.ts'
import { inputTypes } from '../../../cli/plugin-types.ts'
import { uploadDeps } from '../../fakes/uploads.ts'
import { zipOf } from '../../fakes/zip.ts'

const base = mkdtempSync(join(tmpdir(), 'isola-author-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

interface Sent {
  readonly url: string
  readonly init: RequestInit
}

/** One command line, and what it said and sent. */
async function isola(words: readonly string[], answer: unknown = {}) {
  let out = ''
  let err = ''
  const sent: Sent[] = []
  const env = { ISOLA_URL: 'http://localhost:1', ISOLA_KEY: 'isk_test' }
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    sent.push({ url: String(url), init })
    return Response.json(answer, { status: 201 })
  }
  const code = await main(words, {
    env,
    fetch: fetch as typeof globalThis.fetch,
    stdout: { write: (text: string) => ((out += text), true) },
    stderr: { write: (text: string) => ((err += text), true) },
  })
  return { code, out, err, sent }
}

function folder(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(base, name)
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(path, file, '..'), { recursive: true })
    writeFileSync(join(path, file), text)
  }
  return path
}

/** What the compiler says of a folder. */
function compile(path: string): string {
  const tsc = join(import.meta.dirname, '../../../node_modules/typescript/bin/tsc')
  try {
    return execFileSync(process.execPath, [tsc, '-p', path], { encoding: 'utf8' })
  } catch (error) {
    return String((error as { readonly stdout: unknown }).stdout)
  }
}

const yaml = (more = '') =>
  `id: parts\nname: Parts\nversion: 1.2.3\nentrypoint: main.ts\ndescription: Parts.\ncontributes: { tools: [{ name: go, description: Goes. }] }\n${more}`
const mainText = `import type { Plugin } from 'isola/plugin'
const register: Plugin = () => ({ tools: { go: async () => 1 } })
export default register
`

describe('isola plugin new', () => {
  it.each([[[]], [['--agent']], [['--hook']]])('makes a folder that builds: %j', async (flags) => {
    const path = join(base, `hello${flags.length > 0 ? flags[0]!.slice(1) : ''}`.replace('--', '-'))
    const { code, out, err } = await isola(['plugin', 'new', path, ...flags])
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(`isola plugin test ${path}`)
    const { bundle } = await buildFolder(path)
    await expect(readUpload({ json: { bundle } }, uploadDeps())).resolves.toMatchObject({
      notes: [],
    })
    expect(readFileSync(join(path, 'main.test.ts'), 'utf8')).toContain("from 'isola/testing'")
  })

  it.each([[[]], [['--agent']], [['--hook']]])(
    'makes a folder that can be checked on another machine, which has no Isola: %j',
    async (flags) => {
      const path = join(base, `here${flags[0]?.replace('--', '-') ?? ''}`)
      await isola(['plugin', 'new', path, ...flags])
      const moved = join(mkdtempSync(join(base, 'elsewhere-')), 'moved')
      cpSync(path, moved, { recursive: true })
      rmSync(path, { recursive: true })
      const texts = readdirSync(moved, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
      for (const text of texts) {
        expect(text).not.toContain(base)
        expect(text).not.toContain(join(import.meta.dirname, '../../..'))
      }
      expect(compile(moved)).toBe('')
      if (flags.length > 0) return
      const main = join(moved, 'main.ts')
      writeFileSync(main, readFileSync(main, 'utf8').replaceAll('name', 'nam'))
      expect(compile(moved)).toMatch(/Property 'nam' does not exist on type/)
    },
  )

  it('does not touch a folder that is there, and takes no name that is no id', async () => {
    const path = folder('there', { 'a.txt': '' })
    expect(await isola(['plugin', 'new', path])).toMatchObject({
      code: 1,
      err: expect.stringContaining('is there already') as unknown,
    })
    expect(await isola(['plugin', 'new', join(base, 'My Plugin')])).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot be the id') as unknown,
    })
  })
})

describe('isola plugin types', () => {
  const inputsOf = (schema: unknown) =>
    inputTypes({
      contributes: { tools: [{ name: 'go', input_schema: schema }] },
    } as unknown as Manifest).match(/readonly go: (.*)\n/)?.[1]

  it.each([
    [{ type: 'object' }, 'Readonly<Record<string, unknown>>'],
    [
      {
        type: 'object',
        properties: { to: { type: 'string' }, 'at-once': { type: ['integer', 'null'] } },
        required: ['to'],
      },
      '{ readonly to: string; readonly "at-once"?: number | null }',
    ],
    [{ enum: ['a', 1, null, {}] }, '"a" | 1 | null | unknown'],
    [
      { type: 'array', items: { anyOf: [{ const: '*/' }, { type: 'boolean' }] } },
      'readonly ("*/" | boolean)[]',
    ],
    [{ $ref: '#/$defs/a', $defs: { a: { type: 'number' } } }, 'number'],
    [{ $ref: 'https://example.com/a' }, 'unknown'],
    [{ $ref: '#/__proto__' }, 'unknown'],
    [{ $ref: '#' }, 'unknown'],
    [
      { type: 'object', properties: { a: { description: 'x */ y\nz' } } },
      '{ /** x * / y z */ readonly a?: unknown }',
    ],
  ])('writes what a schema allows: %j', (schema, type) => {
    expect(inputsOf(schema)).toBe(type)
  })

  it('ends, however much a schema asks of itself', () => {
    const pairs = { anyOf: Array.from({ length: 40 }, () => ({ $ref: '#' })) }
    expect(inputsOf(pairs)).toBe('unknown')
  })

  it('comes after a change of a schema, and writes through no link', async () => {
    const path = join(base, 'typed')
    await isola(['plugin', 'new', path])
    const manifest = join(path, 'plugin.yaml')
    writeFileSync(
      manifest,
      readFileSync(manifest, 'utf8')
        .replace('name: { type', 'who: { type')
        .replace('[name]', '[who]'),
    )
    const mine = join(base, 'mine.txt')
    writeFileSync(mine, 'mine')
    rmSync(join(path, 'types/inputs.ts'))
    symlinkSync(mine, join(path, 'types/inputs.ts'))
    expect((await isola(['plugin', 'types', path])).code).toBe(0)
    expect(readFileSync(join(path, 'types/inputs.ts'), 'utf8')).toContain('readonly who: string')
    expect(readFileSync(mine, 'utf8')).toBe('mine')
    rmSync(join(path, 'types'), { recursive: true })
    symlinkSync(base, join(path, 'types'))
    expect((await isola(['plugin', 'types', path])).err).toMatch(/types is a link out of/)
  })
})

describe('isola plugin build', () => {
  it('makes one file with one module in it, packages too', async () => {
    const path = folder('parts', {
      'plugin.yaml': yaml(),
      'main.ts': `import { ToolError, type Plugin } from 'isola/plugin'\nimport { double } from 'doubler'\nimport { one } from './one.ts'\nconst register: Plugin = () => ({ tools: { go: async () => { if (one > 1) throw new ToolError('tool_failed', { message: 'x' }); return double(one) } } })\nexport default register\n`,
      'one.ts': 'export const one: number = 1\n',
      'README.md': '# Parts',
      'node_modules/doubler/package.json': '{"name":"doubler","main":"index.js"}',
      'node_modules/doubler/index.js': 'module.exports.double = (n) => n * 2',
    })
    const out = join(base, 'parts.isola.json')
    const { code, out: said } = await isola(['plugin', 'build', path, '--out', out])
    expect(code).toBe(0)
    const json = JSON.parse(readFileSync(out, 'utf8')) as unknown
    const read = await readUpload({ json }, uploadDeps())
    expect(said).toContain(read.hash)
    expect(read.bundle.files).toEqual({ 'README.md': '# Parts' })
    expect(read.bundle.code?.match(/from\s*"[^"]+"/g)).toEqual(['from "isola/plugin"'])
  })

  it('writes over a bundle, and over no file that is something else', async () => {
    const path = folder('over', { 'plugin.yaml': yaml(), 'main.ts': mainText })
    const main = join(path, 'main.ts')
    const { code, err } = await isola(['plugin', 'build', path, '--out', main])
    expect([code, err]).toEqual([1, expect.stringContaining(`--out: ${main} is there`)])
    expect(readFileSync(main, 'utf8')).toBe(mainText)
    const out = join(base, 'over.isola.json')
    for (const _time of [1, 2])
      expect((await isola(['plugin', 'build', path, '--out', out])).code).toBe(0)
  })

  it.each([
    ['a zip', 'parts.zip'],
    ['a folder, to be put where others get it', 'built/'],
  ])('makes %s, which is the same version as the file', async (_what, name) => {
    const path = folder(`out-${name.replaceAll(/\W/g, '-')}`, {
      'plugin.yaml': yaml(),
      'main.ts': mainText,
      'README.md': '# Parts',
    })
    const { hash } = await buildFolder(path)
    const out = join(base, name)
    const target = name.endsWith('/') ? `${out}/` : out
    expect((await isola(['plugin', 'build', path, '--out', target])).code).toBe(0)
    const files = name.endsWith('/')
      ? Object.fromEntries(
          readdirSync(out).map((file) => [file, readFileSync(join(out, file), 'utf8')]),
        )
      : undefined
    const read = await readUpload({ zip: files ? zipOf(files) : readFileSync(out) }, uploadDeps())
    expect([read.hash, read.manifest.entrypoint]).toEqual([hash, 'main.js'])
    // A built folder is built again; an author's source is not overwritten.
    expect((await isola(['plugin', 'build', path, '--out', target])).code).toBe(0)
    expect((await isola(['plugin', 'build', path, '--out', `${path}/`])).err).toMatch(
      /plugin\.yaml is not one that `isola plugin build` wrote/,
    )
  })

  it('makes the same bytes each time', async () => {
    const path = folder('again', { 'plugin.yaml': yaml(), 'main.ts': mainText })
    const [one, other] = [await buildFolder(path), await buildFolder(path)]
    expect(one.hash).toBe(other.hash)
  })

  it.each([
    ['node:fs', "import { readFileSync } from 'node:fs'\nexport default readFileSync"],
    ['fs', "import fs from 'fs'\nexport default fs"],
    ['cloudflare:sockets', "import { connect } from 'cloudflare:sockets'\nexport default connect"],
  ])('names the file that imports %s', async (name, text) => {
    const path = folder(`bad-${name.replace(':', '-')}`, {
      'plugin.yaml': yaml(),
      'main.ts': "export { default } from './deep/one.ts'",
      'deep/one.ts': text,
    })
    const { code, err } = await isola(['plugin', 'build', path])
    expect(code).toBe(1)
    expect(err).toMatch(new RegExp(`deep/one\\.ts imports ${name}, which an island does not have`))
  })

  it('says what is wrong with plugin.yaml and where', async () => {
    const path = folder('wrong', {
      'plugin.yaml': yaml('grants: { shell: true }\n'),
      'main.ts': mainText,
    })
    expect((await isola(['plugin', 'build', path])).err).toMatch(/grants: .*shell/)
    const twice = folder('twice', { 'plugin.yaml': yaml('name: Again\n'), 'main.ts': mainText })
    expect((await isola(['plugin', 'build', twice])).err).toMatch(/plugin\.yaml:7:1/)
    const none = folder('none', { 'plugin.yaml': yaml() })
    expect((await isola(['plugin', 'build', none])).err).toMatch(
      /names main\.ts, and there is no such file/,
    )
    const silent = folder('silent', { 'plugin.yaml': yaml(), 'main.ts': 'export const a = 1' })
    expect((await isola(['plugin', 'build', silent])).err).toMatch(/no default export/)
  })

  it('writes input schemas from zod', async () => {
    const path = folder('schemas', {
      'plugin.yaml': yaml(),
      'main.ts': `import { z } from ${JSON.stringify(join(import.meta.dirname, '../../../node_modules/zod/index.js'))}\nexport const schemas = { go: z.object({ to: z.string().min(1) }) }\nexport default () => ({ tools: { go: async () => 1 } })\n`,
    })
    const { manifest } = await buildFolder(path)
    expect(manifest.contributes.tools[0]?.input_schema).toMatchObject({
      type: 'object',
      properties: { to: { type: 'string', minLength: 1 } },
      required: ['to'],
    })
  })
})

describe('isola trust new, isola plugin sign', () => {
  it('sign what the server verifies, with a key that only its owner can read', async () => {
    const key = join(base, 'acme.key')
    expect((await isola(['trust', 'new', key])).code).toBe(0)
    expect(statSync(key).mode & 0o077).toBe(0)
    expect(await isola(['trust', 'new', key])).toMatchObject({ code: 1 })
    const path = folder('signed', { 'plugin.yaml': yaml(), 'main.ts': mainText })
    const out = join(base, 'signed.isola.json')
    expect((await isola(['plugin', 'sign', path, '--key', key, '--out', out])).code).toBe(0)
    const json = JSON.parse(readFileSync(out, 'utf8')) as unknown
    const { manifest, hash, signature } = await readUpload({ json }, uploadDeps())
    const publicKey = readFileSync(`${key}.pub`, 'utf8').trim()
    const accepted = { id: 'trust_1', name: 'acme', publicKey, addedBy: 'operator', addedAtMs: 0 }
    const text = toSignedText({ id: manifest.id, hash })
    const verified = await verifySignature({ text, signature: signature! }, [accepted])
    expect(verified).toEqual({ tier: 'trusted', signer: accepted })
    const { sent } = await isola(['trust', 'add', 'acme', `${key}.pub`], accepted)
    expect(sent[0]?.init.body).toBe(JSON.stringify({ name: 'acme', publicKey }))
    expect((await isola(['trust', 'add', 'acme', key])).err).toMatch(/is a private key/)
  })
})

describe('isola plugin add', () => {
  const plugin = {
    id: 'parts',
    version: '1.2.3',
    tier: 'community',
    state: 'installed',
    hash: 'ab',
    lines: [{ text: 'network GET api.example.com' }],
  }
  const answer = { plugin, notes: ['"parts" looks like "part"'] }

  it('builds a folder, sends it, and says what it asks for and what comes next', async () => {
    const path = folder('added', { 'plugin.yaml': yaml(), 'main.ts': mainText })
    const { code, out, sent } = await isola(['plugin', 'add', path], answer)
    expect(code).toBe(0)
    expect(sent[0]?.url).toBe('http://localhost:1/api/operator/plugins')
    const json = JSON.parse(String(sent[0]?.init.body)) as unknown
    await expect(readUpload({ json }, uploadDeps())).resolves.toMatchObject({
      source: 'folder added',
    })
    expect(out).toMatch(/network GET api\.example\.com/)
    expect(out).toMatch(/note: "parts" looks like "part"/)
    expect(out).toMatch(/Next: isola plugin grant parts, then isola plugin enable parts/)
  })

  it('of a version that waits names both, and what allows it', async () => {
    const update = {
      version: '1.3.0',
      hash: 'cd',
      lines: plugin.lines,
      missing: [{ text: 'network: GET example.com' }],
    }
    const notes = [
      'It asks for more than was allowed, so it waits: network: GET example.com.',
      'Version 1.2.3 goes on: isola plugin grant parts',
    ]
    const waits = { plugin: { ...plugin, state: 'enabled', lines: [], update }, notes }
    const url = 'https://plugins.example/parts.zip'
    expect((await isola(['plugin', 'add', url], waits)).out).toBe(
      'parts 1.2.3 goes on. 1.3.0 (hash cd) waits: it asks for network: GET example.com.\nAllow it: isola plugin grant parts\n',
    )
  })

  it('reads a zip itself, and names a URL', async () => {
    const zip = join(base, 'parts.zip')
    const manifest = yaml().replace('main.ts', 'main.js')
    writeFileSync(zip, zipOf({ 'plugin.yaml': manifest, 'main.js': 'export default () => ({})' }))
    const [first] = (await isola(['plugin', 'add', zip], answer)).sent
    const json = JSON.parse(String(first?.init.body)) as unknown
    await expect(readUpload({ json }, uploadDeps())).resolves.toMatchObject({
      manifest: { id: 'parts' },
      source: 'parts.zip',
    })
    const url = 'https://example.com/parts.zip'
    expect((await isola(['plugin', 'add', url], answer)).sent[0]?.init.body).toBe(
      JSON.stringify({ url }),
    )
  })

  it('refuses a zip that is none, and sends nothing', async () => {
    const zip = join(base, 'none.zip')
    writeFileSync(zip, 'no zip')
    const { err, sent } = await isola(['plugin', 'add', zip], answer)
    expect(err).toMatch(/zip/)
    expect(sent).toEqual([])
  })

  it('says on request that a version number gets another content', async () => {
    const path = folder('replaced', { 'plugin.yaml': yaml(), 'main.ts': mainText })
    const [built] = (await isola(['plugin', 'add', path, '--replace'], answer)).sent
    expect(JSON.parse(String(built?.init.body))).toMatchObject({ replace: true })
  })

  it('says what it takes', async () => {
    expect((await isola(['plugin', 'add', join(base, 'nowhere')])).err).toMatch(
      /none of: a plugin's folder/,
    )
  })
})
