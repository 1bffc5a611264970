import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generateMcpCore, mcpCores, mcpCore } from '../../../scripts/generate-mcp-core.mjs'

const root = join(import.meta.dirname, '../../..')

type Core = Readonly<Record<string, unknown>>
// By Node itself: the test runner would write other texts for our own.
const load: (path: string) => Core = createRequire(import.meta.url)

/** What a value is, to the text of every function in it. */
function outline(value: unknown): unknown {
  if (typeof value === 'function') return String(value)
  if (typeof value !== 'object' || value === null) return value
  // A schema is built when it is asked for; its package is the same for both.
  if ('_zod' in value) return 'schema'
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, outline(item)]))
}

test('the core made for the MCP client has what its own has, to the letter', () => {
  mcpCore.update()
  const own = load(mcpCores().client.path)
  const made = load(join(root, 'src', 'mcp-core.gen.js'))
  expect(Object.keys(made)).toEqual(Object.keys(own))
  for (const [name, value] of Object.entries(own))
    expect(outline(made[name]), name).toEqual(outline(value))
})

test('the error classes of the core made for the MCP client are the server’s', async () => {
  const { MissingRequiredClientCapabilityError, ProtocolError } =
    await import('@modelcontextprotocol/server')
  const made = Object.values(load(join(root, 'src', 'mcp-core.gen.js')))
  expect(made).toContain(ProtocolError)
  expect(made).toContain(MissingRequiredClientCapabilityError)
})

test('the core made for the MCP client keeps nothing that the server’s keeps as well', () => {
  const keeps =
    /^(?:(?:let|var) ([\w$]+);|(?:const|let|var) ([\w$]+) = .*new (?:Weak)?(?:Map|Set)\()/gm
  const names = (text: string) =>
    [...text.matchAll(keeps)].map(([, first, second]) => first ?? second)
  const server = names(readFileSync(mcpCores().server.path, 'utf8'))
  const kept = names(generateMcpCore())
  expect(kept).toContain('leftToFetch')
  expect(kept.filter((name) => server.includes(name))).toEqual([])
})

test('wrangler.toml puts the made core in the place of the one that the MCP client brings', () => {
  const { name, path } = mcpCores().client
  expect(readFileSync(join(root, 'wrangler.toml'), 'utf8')).toContain(
    `"./${name}" = "./src/mcp-core.gen.js"`,
  )
  expect(readFileSync(join(path, '..', 'index.mjs'), 'utf8')).toContain(`"./${name}"`)
})
