import { expect, it } from 'vitest'
import { resolveUsesTools } from '../../../src/features/agents/tool-reach.ts'
import { wireServers } from '../../../src/features/mcp-servers/approved.ts'
import { mcpServerSchema, type McpPin } from '../../../src/runtime/catalog/types/mcp.ts'
import { toolEntry } from '../../fakes/kernel.ts'

const pin = (id: string, about: object = {}): McpPin => ({
  id,
  config: mcpServerSchema.parse({ id, url: `https://${id}.example.com/mcp`, ...about }),
  hash: `hash-of-${id}`,
  confirmed: [],
  epoch: 1,
  addedAtMs: 0,
})
const item = { kind: 'tool', key: 'say', tool: 'say', definition: {}, hash: 'h' } as const
const source = { manifest: { server: 'x', items: [item] }, files: {} }

it('I7: a server whose approval is gone, or whose id a plugin has, is off and listed; the others go on', () => {
  const snapshot = {
    pins: { mcp: [pin('good', { exclusive: true }), pin('lost'), pin('kv')] },
    sources: { 'hash-of-good': source, 'hash-of-kv': source },
  }
  const { servers, problems } = wireServers(snapshot, {
    taken: new Set(['kv']),
    toEntries: ({ id }, items) =>
      items.map(({ tool }) => toolEntry(`${id}__${tool}`, async () => ({ ok: true, output: '' }))),
  })
  expect(servers.map(({ id, isExclusive }) => [id, isExclusive])).toEqual([['good', true]])
  expect(problems.map(({ plugin, code }) => [plugin, code])).toEqual([
    ['lost', 'plugin_code_unavailable'],
    ['kv', 'plugin_name_collision'],
  ])
  for (const name of ['good', 'good__say'])
    expect(resolveUsesTools([name], servers).entries).toHaveLength(1)
})
