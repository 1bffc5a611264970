import { describe, expect, it } from 'vitest'
import type { McpServerConfig } from '../../../src/runtime/catalog/types/mcp.ts'
import { replied } from '../../../src/features/mcp-servers/server-parts.ts'
import { createLinkWorld } from '../../fakes/mcp-link.ts'
import { createFakeMcp } from '../../fakes/mcp-server.ts'

const url = 'https://mcp.example.com/mcp'
const headers = { authorization: 'Bearer ${secret:KEY}' }

/** What an operator reads who looks at a server for the first time. */
async function firstLook(
  answer: (request: Request) => Promise<Response>,
  about: Partial<McpServerConfig> = {},
): Promise<string> {
  const world = createLinkWorld({ url, answer }, {}, about)
  const reply = await replied({ ...world.config, fromText: (text) => text }, world.look)
  return reply.ok ? 'It answers.' : reply.error.message
}

describe('the first request to a server that fails', () => {
  it('names the secret that is not set', async () => {
    const server = createFakeMcp({ url })
    expect(await firstLook(server.answer, { headers })).toBe(
      'The secret KEY is not set. The operator sets it: isola secret set KEY',
    )
  })

  it('is made again at once when what was missing is there', async () => {
    const set = new Map<string, string>()
    const world = createLinkWorld(
      createFakeMcp({ url }),
      { readSecrets: async () => set },
      { headers },
    )
    await expect(world.look()).rejects.toThrow()
    set.set('KEY', 'the-value')
    expect((await world.look()).items).toHaveLength(1)
  })

  it('says that the server could not be reached', async () => {
    const server = createFakeMcp({ url })
    server.state.isDown = true
    expect(await firstLook(server.answer)).toBe('The MCP server srv could not be reached.')
  })

  it('says which status came', async () =>
    expect(await firstLook(async () => new Response(null, { status: 503 }))).toBe(
      'The MCP server srv answered with HTTP 503.',
    ))

  it.each([
    [
      'headers',
      'The MCP server srv answered with HTTP 401: look at its headers, or add it again with --oauth --replace.',
    ],
    ['oauth', 'Nobody is signed in at the MCP server srv. The operator can: isola mcp login srv'],
  ] as const)('says of a 401 what opens a server with %s', async (auth, expected) =>
    expect(await firstLook(async () => new Response(null, { status: 401 }), { auth })).toBe(
      expected,
    ),
  )

  it('says that the answer was none of the protocol', async () =>
    expect(
      await firstLook(
        async () => new Response('{"x', { headers: { 'content-type': 'application/json' } }),
      ),
    ).toContain('did not answer as the protocol says'))
})
