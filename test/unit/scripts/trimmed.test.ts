import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { buildSync } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { sourceOf, targetOf, trim, trimmedFiles } from '../../../scripts/generate-trimmed.mjs'
import { trimmed } from '../../../scripts/trimmed.mjs'

const root = join(import.meta.dirname, '../../..')
trimmedFiles.update()

const call = /\.\w+(?=\()/g

/** Of what an alias stands for: the file that is read in its place, by the specifier that is written in a module. */
const aliases = new Map(
  [
    ...readFileSync(join(root, 'wrangler.toml'), 'utf8').matchAll(/^"(.+)" = "(\.\/src\/.+)"$/gm),
  ].map(([, from = '', to = '']) => [from, resolve(root, to)]),
)

describe.each(trimmed)('$package without what the Worker never reaches ($file)', (entry) => {
  const own = readFileSync(sourceOf(entry), 'utf8').split('\n')
  // Without the function that says what was called.
  const made = trim(entry).split('\n').slice(0, -2)
  const names = Object.entries(entry.without).flatMap(([owner, list]) =>
    list.map((name) => (owner === '' ? name : `${owner}.${name}`)),
  )

  const cutBlock = (head: string) => `${head} leftOut_(${JSON.stringify(head)})`
  const isCutBlock = (line: string) => entry.blocks?.map(cutBlock).includes(line.trim()) === true

  test('is the package’s file to the letter, but for what is named', () => {
    const neighbour = /^((?:import|export) .* from )"\..*";$/
    const added = made.filter((line, index) => index > 0 && !own.includes(line))
    const stubs = added.filter((line) => / leftOut_\("|^const \w+ = undefined;$/.test(line))
    const moved = added.filter((line) => neighbour.test(line))
    expect(stubs).toHaveLength(names.length + made.filter(isCutBlock).length)
    const bodies = Object.values(entry.bodies ?? {}).filter((body) => added.includes(`  ${body}`))
    expect(bodies).toHaveLength(Object.keys(entry.bodies ?? {}).length)
    expect(added).toHaveLength(stubs.length + moved.length + bodies.length)
    // In its order, and nothing twice.
    const kept = made.filter((line) => own.includes(line))
    let at = -1
    for (const line of kept) {
      at = own.indexOf(line, at + 1)
      expect(at, line).toBeGreaterThanOrEqual(0)
    }
  })

  test('is read in the place of the package’s own', () => {
    expect([...aliases.values()]).toContain(targetOf(entry))
  })

  test('says so where a block is come to that is left out', () => {
    const heads = entry.blocks ?? []
    expect(made.filter((line) => heads.includes(line.trim()))).toEqual([])
    expect(new Set(made.filter(isCutBlock).map((line) => line.trim()))).toEqual(
      new Set(heads.map(cutBlock)),
    )
    for (const [at, line] of made.entries())
      if (isCutBlock(line)) expect(made[at + 1]?.trim(), line).toMatch(/^\}/)
  })

  test('has of a table what is kept, and nothing else', () => {
    for (const [table, kept] of Object.entries(entry.keeps ?? {})) {
      const begin = made.findIndex((line) => line.includes(` ${table} = `))
      const end = made.findIndex((line, index) => index > begin && /^[\])}]+;$/.test(line))
      expect(made.slice(begin + 1, end).map((line) => /\w+/.exec(line)?.[0])).toEqual(kept)
    }
  })

  test('stands for names that a module writes: of the package, of its core, or of the room', () => {
    const modules = [dirname(sourceOf(entry)), join(root, entry.room)].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => /\.(m?js|ts)$/.test(path) && !path.endsWith('.d.ts'))
        .map((path) => join(folder, path)),
    )
    const texts = [...modules, join(root, 'src', 'mcp-core.gen.js')].map((path) =>
      readFileSync(path, 'utf8'),
    )
    const keys = [...aliases].flatMap(([from, to]) => (to === targetOf(entry) ? [from] : []))
    const isWritten = (key: string) =>
      texts.some((text) => text.includes(`"${key}"`) || text.includes(`'${key}'`))
    expect(keys.filter((key) => !isWritten(key))).toEqual([])
  })

  test('lacks nothing that the room which uses it calls', () => {
    const calls = readdirSync(join(root, entry.room), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) => readFileSync(join(root, entry.room, path), 'utf8').match(call) ?? [])
    const own = new Set(names.map((name) => `.${name.split('.').at(-1)}`))
    expect(calls).not.toHaveLength(0)
    expect(calls.filter((name) => own.has(name))).toEqual([])
  })

  test('is a module that can be read', () => {
    const { errors } = buildSync({
      stdin: { contents: made.join('\n'), resolveDir: dirname(targetOf(entry)) },
      bundle: false,
      write: false,
    })
    expect(errors).toEqual([])
  })
})

test('MCP’s checks by the name of a type are there for the types that the packages ask for', () => {
  const core = trimmed.find(({ keeps }) => keeps?.['SPEC_SCHEMA_KEYS'])
  const kept = core?.keeps?.['SPEC_SCHEMA_KEYS']?.map((name) => name.replace(/Schema$/, ''))
  const folders = ['@modelcontextprotocol/client', '@modelcontextprotocol/server', 'agents'].map(
    (name) => join(root, 'node_modules', name, 'dist'),
  )
  const asked = [
    ...folders,
    join(root, 'src/features/mcp-servers'),
    join(root, 'src/surfaces'),
  ].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(m?js|ts)$/.test(path) && !/\.d\.m?ts$/.test(path))
      .flatMap((path) => [
        ...readFileSync(join(folder, path), 'utf8')
          .replaceAll(/^\s*\*.*$/gm, '')
          .matchAll(/\b(?:isSpecType|specTypeSchemas)(?:\.(\w+)|\[)/g),
      ])
      .map(([, name]) => name),
  )
  expect(asked).toEqual(kept)
})
