import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import * as whole from 'zod'
import { coercions, formats, methods, names, zodFile } from '../../../scripts/generate-zod.mjs'

const root = join(import.meta.dirname, '../../..')
zodFile.update()
const path = join(root, 'src/trimmed.gen/zod/index.js')
const z = (await import(path)) as typeof whole

/** Modules of the Worker: ours, and those of packages that may ask zod for something. */
const all = [
  ...['src', 'plugins'].map((folder) => join(root, folder)),
  ...['agents/dist/mcp', 'agents/dist/lifecycle', '@modelcontextprotocol'].map((folder) =>
    join(root, 'node_modules', folder),
  ),
]
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter(
    (file) =>
      /\.(ts|js|mjs)$/.test(file) &&
      !/\.d\.m?ts$|conformance|modelcontextprotocol\/(sdk|node_modules)|trimmed\.gen\/zod/.test(
        file,
      ),
  )
  .map((file) => ({ file, text: readFileSync(file, 'utf8').replaceAll(/^\s*\*.*$/gm, '') }))
const modules = all.filter(({ text }) => /from ['"]zod(?:\/v4)?['"]/.test(text))

test('zod in the Worker has every name that is asked of it, and no other', () => {
  const asked = modules.flatMap(({ text }) =>
    [...text.matchAll(/\bz\s*\.\s*(\w+)/g)].map(([, name = '']) => name),
  )
  // Of these the types are used.
  const values = new Set(
    asked.filter((name) => name in whole && !['core', 'input', 'output'].includes(name)),
  )
  expect(modules.length).toBeGreaterThan(50)
  expect([...values].toSorted()).toEqual(names.toSorted())
  expect(Object.keys(z).toSorted()).toEqual(names.toSorted())
  const coerced = modules.flatMap(({ text }) =>
    [...text.matchAll(/\bz\s*\.\s*coerce\s*\.\s*(\w+)/g)].map(([, name]) => name),
  )
  expect([...new Set(coerced)]).toEqual(coercions)
  expect(Object.keys(z.coerce)).toEqual(coercions)
})

test('zod in the Worker compiles no code', () => {
  const text = readFileSync(path, 'utf8')
  expect(text).not.toContain('new Doc(')
})

test('zod is imported whole, by the two names that wrangler.toml has something else for', () => {
  const toml = readFileSync(join(root, 'wrangler.toml'), 'utf8')
  for (const { file, text } of modules)
    for (const [statement, name] of text.matchAll(/^import .* from ['"](zod[^'"]*)['"]/gm)) {
      expect(statement, file).toMatch(/^import (?:type )?(?:\* as )?(?:z |\{)/)
      expect(toml, file).toContain(`"${name}" = "./src/trimmed.gen/zod/index.js"`)
    }
})

test('a format that z.string() has not is asked of it nowhere, and says so', () => {
  const text = new RegExp(
    `\\bz\\s*\\.\\s*string\\(\\)(?:\\s*\\.\\w+\\([^()]*\\))*?\\s*\\.(?:${formats.join('|')})\\(`,
  )
  expect(modules.filter((one) => text.test(one.text)).map(({ file }) => file)).toEqual([])
  expect(text.test('z.string().min(1).email()')).toBe(true)
  const string = z.string() as unknown as Record<string, () => unknown>
  for (const format of formats) expect(string[format], format).toThrow(/z.email\(\)/)
})

test('a method that is left out is called nowhere, and says so', () => {
  const { ZodString: _formats, ...others } = methods
  for (const [owner, list] of Object.entries(others))
    for (const name of list) {
      const call = new RegExp(`\\.${name}\\(`)
      const callers = all.filter(({ text }) => call.test(text)).map(({ file }) => file)
      expect(callers, `${owner}.${name}`).toEqual([])
    }
  const schemas = [z.string(), z.number(), z.object({}), z.array(z.string())]
  const left = Object.values(others).flat()
  for (const schema of schemas as unknown as Record<string, () => unknown>[])
    for (const name of left)
      if (schema[name]) expect(schema[name], name).toThrow(/scripts\/generate-zod\.mjs/)
  const { error } = z.string().safeParse(1)
  for (const tell of ['format', 'flatten'] as const)
    expect(() => error?.[tell]()).toThrow(/scripts\/generate-zod\.mjs/)
})

test('errors are told by prettifyError and their issues alone', () => {
  const tells = modules.filter(({ text }) => /(?:rror|issue)s?\??\.(?:format|flatten)\(/.test(text))
  expect(tells.map(({ file }) => file)).toEqual([])
})

test('the trimmed package reads and refuses as the whole package does', () => {
  const build = (zod: typeof whole) =>
    zod.strictObject({
      name: zod.string().trim().min(2).regex(/^a/),
      at: zod.iso.datetime({ offset: true }),
      mail: zod.email().toLowerCase().optional(),
      link: zod
        .string()
        .url()
        .or(zod.url({ protocol: /^https$/ })),
      blob: zod.base64(),
      kind: zod.discriminatedUnion('is', [
        zod.object({ is: zod.literal('one'), count: zod.coerce.number().int().max(9) }),
        zod.looseObject({ is: zod.literal('two') }),
      ]),
      any: zod.record(zod.string(), zod.json()).catch({}),
      pair: zod.tuple([zod.enum(['a', 'b']), zod.preprocess(Number, zod.int())]).default(['a', 1]),
    })
  const good = {
    name: ' ab ',
    at: '2026-11-23T23:45:00+01:00',
    mail: 'A@EXAMPLE.COM',
    link: 'https://example.com',
    blob: 'YWJj',
    kind: { is: 'one', count: '7' },
    any: 1,
  }
  const bad = {
    name: 'b',
    at: 'now',
    mail: 'no',
    link: 'no',
    blob: '?',
    kind: { is: 'x' },
    more: 1,
  }
  for (const value of [good, bad, null, { ...good, kind: { is: 'two', more: true } }]) {
    const [own, package_] = [build(z), build(whole)].map((schema) => {
      const { success, data, error } = schema.safeParse(value)
      return { success, data, issues: error?.issues }
    })
    expect(own).toEqual(package_)
  }
  expect(build(z).safeParse(good).success).toBe(true)
  expect(build(z).safeParse(bad).success).toBe(false)
})

test('zod in the Worker is a part of the version that is installed', () => {
  const { version } = createRequire(import.meta.url)('zod/package.json') as { version: string }
  const [major, minor, patch] = version.split('.')
  const text = readFileSync(path, 'utf8')
  expect(text).toMatch(new RegExp(`major: ${major},\\s*minor: ${minor},\\s*patch: ${patch}\\b`))
})
