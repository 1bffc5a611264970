import type { DeploymentDraft } from '#contracts/event.ts'
import type { McpSelf } from '../../src/runtime/catalog/types/part-kind.ts'
import { IsolaError } from '../../src/contracts/errors.ts'
import type { McpItem, McpServerRow } from '../../src/runtime/catalog/types/mcp.ts'
import { createMcpAdministration } from '../../src/features/mcp-servers/administration.ts'
import { createMcpGateway } from '../../src/features/mcp-servers/gateway.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { sha256 } from './mcp-link.ts'
import { createMcpObject } from './mcp-object.ts'
import { createAuthWorld, here, type FakeAuth } from './mcp-sign-in.ts'

/** The caller who asks about its own sign-in. */
export const self = (principal: string, role: McpSelf['role'] = 'user'): McpSelf => ({
  principal,
  role,
  trace: 'trace',
  requestId: 'req_1',
})

/** A server where each principal signs in, with an object for each principal who needs one. */
export function createOwnLoginWorld(fake: FakeAuth = {}) {
  const auth = createAuthWorld({ ...fake, about: { auth: 'principal', ...fake.about } })
  const { config } = auth
  const row: McpServerRow = {
    id: config.id,
    config,
    state: 'enabled',
    confirmed: [],
    epoch: 1,
    addedBy: 'operator',
    addedAtMs: 1,
  }
  const rows = new Map([[row.id, row]])
  const happens = { atNetwork: async (_request: Request) => {} }
  let nowMs = 1_000_000
  const objects = new Map<string, ReturnType<typeof createMcpObject>>()
  const objectOf = (name: string) => {
    const found =
      objects.get(name) ??
      createMcpObject(
        async (request) => {
          await happens.atNetwork(request)
          return auth.answer(request)
        },
        { name, clock: { ...systemSources.clock, nowMs: () => nowMs } },
      )
    objects.set(name, found)
    return found
  }
  const at = createMcpGateway({
    namespace: { getByName: (name) => objectOf(name).object },
    sha256,
  })
  const told: (DeploymentDraft & { readonly by: string })[] = []
  const never = async () => {
    throw new Error('nobody asks')
  }
  const mcp = createMcpAdministration({
    store: {
      find: async (id) => rows.get(id),
      list: async () => [...rows.values()],
    },
    bundles: { save: never, load: never },
    catalog: {
      async change(change) {
        if (change.do !== 'mcp' || change.mcp.do !== 'remove') return never()
        if (!rows.delete(change.mcp.id)) throw new IsolaError('request_not_found', 'gone')
        return { generation: 1, notes: [] }
      },
    },
    at,
    sha256,
    toolNames: async () => [],
    told: async (draft, { principal }) => void told.push({ ...draft, by: principal }),
  })
  const nameOf = (principal?: string): string => {
    const seen: string[] = []
    const spy = createMcpGateway({
      namespace: { getByName: (name) => void seen.push(name) },
      sha256,
    })
    spy(config.id, principal)
    return seen[0] ?? ''
  }
  const begin = async (principal: string) => {
    const begun = await mcp.own.begin(config.id, self(principal), here)
    if (begun.state !== 'open') throw new Error(begun.state)
    return new URL(begun.url)
  }
  /** The query with which the browser comes back after a yes. */
  const allowed = (page: URL): string =>
    `?code=a-code&state=${page.searchParams.get('state')}&iss=https://auth.example.com`
  const signIn = async (principal: string): Promise<void> => {
    const back = await mcp.finishLogin(allowed(await begin(principal)))
    if (back.state !== 'code') throw new Error(back.state)
    await mcp.own.finish(config.id, self(principal), back.code)
  }
  const approved: McpItem = { kind: 'tool', key: 'say', tool: 'say', definition: {}, hash: 'x' }
  const call = (principal: string, item = approved) =>
    at(config.id, principal).call(
      {
        callId: `call of ${principal}`,
        config,
        epoch: 1,
        item,
        ask: { do: 'tool', input: { text: 'hello' } },
        idempotencyKey: 'key',
        traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
        timeoutMs: 2_000,
      },
      () => {},
      async () => ({ state: 'refused', why: 'Nobody is there.' }),
    )
  return {
    ...auth,
    rows,
    row,
    told,
    happens,
    at,
    mcp,
    begin,
    allowed,
    signIn,
    call,
    own: mcp.own,
    remove: () =>
      mcp.change({ do: 'remove', id: config.id }, { ...self('operator'), mayEnable: true }),
    look: (principal: string) => at(config.id, principal).look(config),
    stateOf: async (principal: string) => (await mcp.own.show(config.id, self(principal))).state,
    /** Storage of the object of this principal; of the server's own object without a principal. */
    keptOf: (principal?: string) => objectOf(nameOf(principal)).kept,
    signedInOf: (principal: string) => objectOf(nameOf(principal)).signedIn,
    later: (ms: number) => void (nowMs += ms),
  }
}
