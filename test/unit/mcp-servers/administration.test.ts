import { describe, expect, it } from 'vitest'
import { errorCode, IsolaError } from '../../../src/contracts/errors.ts'
import {
  mcpServerSchema,
  type McpChange,
  type McpItem,
  type McpListing,
  type McpServerRow,
} from '../../../src/runtime/catalog/types/mcp.ts'
import {
  noGeneration,
  pinsOf,
  type Generation,
} from '../../../src/runtime/catalog/types/generation.ts'
import { createMcpAdministration } from '../../../src/features/mcp-servers/administration.ts'
import { createMcpDecisions } from '../../../src/features/mcp-servers/change-server.ts'
import { sha256 } from '../../fakes/mcp-link.ts'

const by = { principal: 'operator', requestId: 'req_1', trace: 'trace', mayEnable: true }
const configOf = (url: string) => mcpServerSchema.parse({ id: 'srv', url })
const say: McpItem = { kind: 'tool', key: 'say', tool: 'say', definition: {}, hash: 'a' }
const listing: McpListing = {
  server: { name: 'fake', version: '1' },
  items: [say, { ...say, key: 'tell', tool: 'tell', hash: 'b' }],
  refused: [],
  notes: [],
  hash: 'what-was-seen',
  atMs: 0,
}

/** Servers in memory, each change decided as it comes in. */
function createWorld() {
  const rows = new Map<string, McpServerRow>()
  let generation: Generation = noGeneration
  const bundles = new Map<string, string>()
  const forgotten: string[] = []
  /** What happens to an object that shall forget, and before a change comes in. */
  const happens = { toForget: async () => {}, before: async (_change: McpChange) => {} }
  const store = {
    find: async (id: string) => rows.get(id),
    list: async () => [...rows.values()].filter(({ state }) => state !== 'removed'),
  }
  const load = async (hash: string) => {
    const text = bundles.get(hash)
    if (text === undefined) throw new IsolaError('plugin_code_unavailable', 'there is no bundle')
    return text
  }
  const decisions = createMcpDecisions({
    store,
    bundles: { load },
    nowMs: () => rows.size,
    checkUrl: (url) => new URL(url),
    isTaken: () => false,
  })
  const decide = async (change: McpChange) => {
    const { servers, mcp, notes } = await decisions.decide(change, generation, by)
    for (const row of servers) rows.set(row.id, row)
    generation = {
      ...generation,
      number: generation.number + 1,
      pins: { ...generation.pins, ...(mcp && { mcp }) },
    }
    return { generation: generation.number, notes }
  }
  const never = async () => {
    throw new Error('nobody asks')
  }
  const administration = createMcpAdministration({
    store,
    bundles: {
      save: async (hash, text) => void bundles.set(hash, text),
      load,
    },
    catalog: {
      async change(change) {
        if (change.do !== 'mcp') return never()
        await happens.before(change.mcp)
        return decide(change.mcp)
      },
    },
    at: (id) => ({
      look: never,
      login: never,
      finishLogin: never,
      cameBack: never,
      confirmLogin: never,
      addSigner: never,
      removeSigner: never,
      signers: async () => [],
      standing: async () => ({ listing, login: 'none' }),
      async forget() {
        await happens.toForget()
        forgotten.push(id)
      },
    }),
    sha256,
    toolNames: async () => [],
    told: async () => {},
  })
  const change = (given: McpChange) => administration.change(given, by)
  const add = (url = 'https://mcp.example.com/mcp', more: { readonly replace?: boolean } = {}) =>
    change({ do: 'add', config: configOf(url), ...more })
  const approve = (items?: readonly string[]) =>
    administration.approve(
      {
        id: 'srv',
        hash: listing.hash,
        confirm: [],
        harmless: [],
        closed: [],
        ...(items && { items }),
      },
      by,
    )
  const login = () => administration.login('srv', 'https://isola.example')
  const remove = () => change({ do: 'remove', id: 'srv' })
  const now = () => generation
  const { restore } = decisions
  return { now, restore, bundles, rows, forgotten, happens, change, add, approve, login, remove }
}
type World = ReturnType<typeof createWorld>

const cut = async () => {
  throw new IsolaError('request_unavailable', 'The connection broke.')
}

describe('T14: an approval', () => {
  const meanwhile: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
    ['has another address', ({ add }) => add('https://other.example.com/mcp', { replace: true })],
    ['was switched off', ({ change }) => change({ do: 'disable', id: 'srv' })],
    ['was approved by somebody else', ({ approve }) => approve()],
  ]
  it.each(meanwhile)(
    'is refused of a server that %s since it was looked at',
    async (_what, one) => {
      const world = createWorld()
      await world.add()
      let then: McpServerRow | undefined
      world.happens.before = async () => {
        world.happens.before = async () => {}
        await one(world)
        then = world.rows.get('srv')
      }
      await expect(world.approve()).rejects.toMatchObject({
        code: 'request_conflict',
        message: expect.stringContaining('isola mcp show srv'),
      })
      expect(world.rows.get('srv')).toEqual(then)
      await world.approve()
      expect(world.rows.get('srv')).toMatchObject({ epoch: (then?.epoch ?? 0) + 1 })
    },
  )
})

it('an approval of a part says of the rest that it is not approved any more', async () => {
  const { add, approve } = createWorld()
  await add()
  expect((await approve()).notes.slice(0, 2)).toEqual(['new tool say', 'new tool tell'])
  expect((await approve(['say'])).notes[0]).toBe('not approved any more: tool tell')
})

describe('T28: the stored listing and sign-in of a server', () => {
  it('is forgotten by the next remove where the first was cut', async () => {
    const world = createWorld()
    await world.add()
    world.forgotten.length = 0
    world.happens.toForget = cut
    await expect(world.remove()).rejects.toThrow('broke')
    expect(world.rows.get('srv')?.state).toBe('removed')
    world.happens.toForget = async () => {}
    expect(errorCode(await world.remove().catch((error: unknown) => error))).toBe(
      'request_not_found',
    )
    expect(world.forgotten).toEqual(['srv'])
  })

  it('stays where nothing was changed', async () => {
    const world = createWorld()
    await world.add()
    world.forgotten.length = 0
    world.happens.before = cut
    await expect(world.remove()).rejects.toThrow('broke')
    world.happens.before = async () => {}
    await world.remove()
    world.forgotten.length = 0
    await expect(world.change({ do: 'disable', id: 'srv' })).rejects.toThrow('no such')
    expect(world.forgotten).toEqual([])
  })
})

describe('signing in', () => {
  it('is refused at a server that was added without --oauth, which is not asked', async () => {
    const { add, login } = createWorld()
    await add()
    await expect(login()).rejects.toMatchObject({
      code: 'request_conflict',
      message: expect.stringContaining('add it again with --oauth --replace'),
    })
  })
})

describe('adding a server', () => {
  it('T14: is refused under the id of another, of which all stays as it was, unless that is meant', async () => {
    const { rows, forgotten, add, approve } = createWorld()
    await add()
    await approve()
    const before = rows.get('srv')
    forgotten.length = 0
    await expect(add('https://other.example.com/mcp')).rejects.toMatchObject({
      code: 'request_conflict',
      message: expect.stringContaining('--replace'),
    })
    expect(rows.get('srv')).toBe(before)
    expect(forgotten).toEqual([])
    const { notes } = await add('https://other.example.com/mcp', { replace: true })
    expect(notes.join()).toContain('nothing is approved of it any more')
    expect(rows.get('srv')?.approvedHash).toBeUndefined()
  })

  it('T16: takes no token of its own beside the sign-ins of principals', async () => {
    const { change, rows } = createWorld()
    const headers = { authorization: 'Bearer ${secret:TOKEN}' }
    const config = {
      ...configOf('https://mcp.example.com/mcp'),
      headers,
      auth: 'principal' as const,
    }
    await expect(change({ do: 'add', config })).rejects.toMatchObject({
      code: 'request_invalid',
      param: 'headers.authorization',
      message: expect.stringContaining('leave it out'),
    })
    expect(rows.size).toBe(0)
    const other = { ...config, headers: { 'X-Api-Key': '${secret:TOKEN}' } }
    await change({ do: 'add', config: other })
    expect(rows.size).toBe(1)
  })

  it.each([
    ['https://mcp.example.com/mcp?key=abc', ['no secret in it']],
    ['https://mcp.example.com/mcp', []],
  ])('T4: notes of %s warn of secrets in its query', async (url, expected) => {
    const { notes } = await createWorld().add(url)
    expect(notes).toEqual(expected.map((text) => expect.stringContaining(text)))
  })
})

describe('going back to what was approved of a server then', () => {
  const approvedTwice = async () => {
    const world = createWorld()
    await world.add()
    await world.approve(['say'])
    await world.change({ do: 'enable', id: 'srv' })
    const before = world.now()
    await world.approve()
    return { world, before, hash: pinsOf(before, 'mcp')[0]!.hash }
  }

  it('has it again while it is kept', async () => {
    const { world, before, hash } = await approvedTwice()
    expect(await world.restore(before)).toMatchObject({ mcp: [{ id: 'srv', hash }] })
  })

  it('leaves the server off where it is not kept any more, and says so', async () => {
    const { world, before, hash } = await approvedTwice()
    world.bundles.delete(hash)
    const { mcp, servers, notes } = await world.restore(before)
    expect(mcp).toEqual([])
    expect(servers).toMatchObject([{ id: 'srv', state: 'disabled' }])
    expect(notes).toEqual([expect.stringMatching(/stays off.*not kept any more.*mcp approve srv/)])
  })

  it('reads no stored listing for a server that stays as it is', async () => {
    const { world } = await approvedTwice()
    world.bundles.clear()
    expect((await world.restore(world.now())).mcp).toHaveLength(1)
  })
})
