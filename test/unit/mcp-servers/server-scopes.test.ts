import { describe, expect, it } from 'vitest'
import { createSessionEnded } from '../../../src/features/mcp-servers/gateway.ts'
import { createLinkWorld } from '../../fakes/mcp-link.ts'
import { createFakeMcp, type FakeMcpOptions } from '../../fakes/mcp-server.ts'

/** A server that gives each connection a session of its own, and knows those that were not ended. */
function createStateful(options: FakeMcpOptions = {}) {
  const server = createFakeMcp({ era: 'legacy', ...options })
  const open = new Set<string>()
  let count = 0
  const answer = async (request: Request): Promise<Response> => {
    const session = request.headers.get('mcp-session-id')
    if (request.method === 'DELETE') open.delete(session ?? '')
    const { method } = (request.method === 'POST' ? await request.clone().json() : {}) as {
      readonly method?: string
    }
    if (method === 'initialize') {
      server.state.session = `at-${(count += 1)}`
      open.add(server.state.session)
    } else if (session !== null && open.has(session)) server.state.session = session
    else server.state.session = 'none'
    return server.answer(request)
  }
  return { ...server, answer, open: () => [...open] }
}

async function worldOf(server: ReturnType<typeof createStateful>, maxScopes = 2) {
  const world = createLinkWorld(server, { maxScopes })
  const item = await world.itemOf('say')
  /** Of its call, the session at the server it was made in. */
  const sessionOf = async (tree: string): Promise<string | null | undefined> => {
    expect(await world.callIn(tree, item, { text: tree })).toMatchObject({ ok: true })
    return server.seen
      .findLast(({ method }) => method === 'tools/call')
      ?.headers.get('mcp-session-id')
  }
  return { world, item, sessionOf }
}

describe('T7: the sessions at a server that keeps them', () => {
  it('are as many as may be: the one that was not used for longest goes, and ends at the server', async () => {
    const server = createStateful()
    const { sessionOf } = await worldOf(server)
    const a = await sessionOf('a')
    const b = await sessionOf('b')
    expect(await sessionOf('a')).toBe(a)
    await sessionOf('c')
    expect(await sessionOf('a')).toBe(a)
    await expect.poll(server.open).not.toContain(b)
    expect(server.open()).toContain(a)
    expect(await sessionOf('b')).not.toBe(b)
  })

  it('are known after the object slept, in the order in which they were used', async () => {
    const server = createStateful()
    const { world, sessionOf } = await worldOf(server)
    const a = await sessionOf('a')
    const b = await sessionOf('b')
    await sessionOf('a')
    world.sleep()
    await sessionOf('c')
    expect(await sessionOf('a')).toBe(a)
    await expect.poll(server.open).not.toContain(b)
  })

  it('stay while a call is under way in them, though they are too many', async () => {
    const held = new Map<string, (result: object) => void>()
    const server = createStateful({
      more: {
        'tools/call': ({ arguments: input }) => {
          const { hold } = input as { readonly hold?: string }
          if (hold === undefined) return { content: [] }
          return new Promise((resolve) => held.set(hold, resolve))
        },
      },
    })
    const { world, item, sessionOf } = await worldOf(server)
    const waitIn = async (tree: string) => {
      const call = world.callIn(tree, item, { hold: tree })
      await expect.poll(() => held.has(tree)).toBe(true)
      return { call }
    }
    const [a, b] = [await waitIn('a'), await waitIn('b')]
    await sessionOf('c')
    const before = server.open()
    for (const finish of held.values()) finish({ content: [] })
    expect(await Promise.all([a.call, b.call])).toMatchObject([{ ok: true }, { ok: true }])
    expect(server.seen.map(({ http }) => http)).not.toContain('DELETE')
    // The next one finds them idle.
    await sessionOf('d')
    await expect.poll(() => server.open().length).toBeLessThan(before.length)
  })

  it('end with their tree, and no other with it', async () => {
    const server = createStateful()
    const { world, sessionOf } = await worldOf(server)
    const a = await sessionOf('a')
    const b = await sessionOf('b')
    world.sleep()
    world.endSession('a')
    world.endSession('nobody')
    await expect.poll(server.open).not.toContain(a)
    expect(server.open()).toContain(b)
  })

  it('end with the server, all of them, before what opens it is forgotten', async () => {
    const server = createStateful()
    const { world, sessionOf } = await worldOf(server)
    await sessionOf('a')
    await sessionOf('b')
    world.sleep()
    expect(server.open()).toHaveLength(3)
    await world.forget()
    expect(server.open()).toEqual([])
    const ended = server.seen.filter(({ http }) => http === 'DELETE')
    expect(ended.every(({ headers }) => headers.has('mcp-protocol-version'))).toBe(true)
  })

  it('that a server does not let end hold up and fail no other call', async () => {
    const server = createStateful()
    const answer = async (request: Request) =>
      request.method === 'DELETE' ? new Response('no', { status: 500 }) : server.answer(request)
    const { world, sessionOf } = await worldOf({ ...server, answer })
    for (const tree of ['a', 'b', 'c', 'd']) await sessionOf(tree)
    await world.forget()
    expect(server.open()).toHaveLength(5)
  })
})

describe('the end of a session', () => {
  const servers = async () =>
    [
      { id: 'one', config: { auth: 'headers' } },
      { id: 'two', config: { auth: 'oauth' } },
      { id: 'each', config: { auth: 'principal' } },
    ] as never

  it('is told to each server once its tree is over, and a fault of one is no other’s', async () => {
    const told: string[] = []
    const faults: unknown[] = []
    const ended = createSessionEnded(
      { store: { list: servers }, onFault: (error) => void faults.push(error) },
      (id, whose = 'everybody') => ({
        endSession: async (rootSession) => {
          if (id === 'one') throw new Error('away')
          told.push(`${id} of ${whose}: ${rootSession}`)
        },
      }),
    )
    const about = { principal: 'p', agent: 'a', rootSession: 'root' }
    await ended({ ...about, session: 'root~child' })
    expect(told).toEqual([])
    await ended({ ...about, session: 'root' })
    expect(told).toEqual(['two of everybody: root', 'each of p: root'])
    expect(faults).toHaveLength(1)
  })

  it('fails nothing where it is not known which servers there are', async () => {
    const faults: unknown[] = []
    const list = async () => {
      throw new Error('D1 is away')
    }
    const ended = createSessionEnded(
      { store: { list }, onFault: (error) => void faults.push(error) },
      () => ({ endSession: async () => {} }),
    )
    await ended({ session: 's', rootSession: 's', principal: 'p', agent: 'a' })
    expect(faults).toHaveLength(1)
  })
})

it('N12: a server that may ask and keeps no session is connected to once a call', async () => {
  const initialize = () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'plain', version: '1' },
  })
  const server = createFakeMcp({
    era: 'legacy',
    more: { initialize: () => Response.json({ jsonrpc: '2.0', id: 0, result: initialize() }) },
  })
  const answer = async (request: Request): Promise<Response> => {
    const headers = new Headers(request.headers)
    headers.set('mcp-session-id', server.state.session)
    const message = request.method === 'POST' ? await request.clone().json() : {}
    const { id, method } = message as { readonly id?: unknown; readonly method?: string }
    if (method === 'initialize') {
      server.seen.push({ url: request.url, http: 'POST', method, headers })
      return Response.json({ jsonrpc: '2.0', id, result: initialize() })
    }
    return server.answer(new Request(request, { headers }))
  }
  const world = createLinkWorld({ ...server, answer }, {}, { allow: { elicitation: true } })
  const item = await world.itemOf('say')
  server.seen.length = 0
  expect(await world.callIn('tree', item, { text: 'hi' })).toMatchObject({ ok: true })
  expect(server.methods().filter((method) => method === 'initialize')).toHaveLength(1)
})
