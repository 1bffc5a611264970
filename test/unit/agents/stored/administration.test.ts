import { describe, expect, it } from 'vitest'
import { needsOf, permissionsOn, type AgentStore } from '../../../../src/features/agents/types.ts'
import { type AgentDefinition, agentDefinition } from '#contracts/manifest/agent-definition.ts'
import { definitionDiff } from '#features/agents/types.ts'
import type { Role } from '#contracts/keys.ts'
import type { AgentVersion } from '../../../../src/runtime/session/types/agent-schedules.ts'
import { createAgentAdministration } from '../../../../src/features/agents/stored/administration.ts'
import { createRunnable } from '../../../../src/features/agents/stored/runnable.ts'
import { createManualClock } from '../../../fakes/manual-clock.ts'
import { sha256 } from '../../../fakes/kernel.ts'

const definitionOf = (more: object = {}): AgentDefinition =>
  agentDefinition.parse({
    id: 'notes',
    name: 'Notes',
    description: 'Writes notes.',
    agent: { instructions: 'You write.' },
    ...more,
  })
const by = (principal: string, role: Role, agents?: readonly string[]) => ({
  principal,
  role,
  trace: 't',
  requestId: 'r',
  ...(agents && { agents }),
})

/** Agents in memory, of people who have no row: their role is the one of the list of people. */
function setUp(withheld: readonly string[] = []) {
  const rows = new Map<string, { owner: string; inForce: number; versions: AgentVersion[] }>()
  const seen = (id: string) => {
    const row = rows.get(id)
    const inForce = row?.versions.find(({ version }) => version === row.inForce)
    if (!row) return undefined
    const newest = row.versions.length
    const about = {
      id,
      owner: row.owner,
      state: 'active' as const,
      newest,
      createdAtMs: 0,
      behind: 0,
    }
    return { ...about, isOwnerHeld: row.owner !== 'gone', ...(inForce && { inForce }) }
  }
  const unused = async () => false
  const store: AgentStore = {
    find: async (id) => seen(id),
    list: async () => [],
    count: async () => ({ own: 0, all: 0, ids: 0 }),
    version: async (id, version) => rows.get(id)?.versions[version - 1],
    versions: async (id) => rows.get(id)?.versions.toReversed() ?? [],
    async add({ id, owner }, version) {
      rows.set(id, { owner, inForce: version.approvedBy ? 1 : 0, versions: [version] })
      return true
    },
    async addVersion(id, version) {
      const row = rows.get(id)!
      row.versions.push(version)
      if (version.approvedBy) row.inForce = version.version
      return true
    },
    async approve(id, { version }) {
      rows.get(id)!.inForce = version
      return true
    },
    rollBack: unused,
    setState: unused,
    remove: unused,
  }
  const clock = createManualClock()
  const people = ['anna', 'ben', 'gone'].map((principal) => ({
    principal,
    role: 'user' as const,
  }))
  const fullNameOf = (model: string) => `openai/${model}`
  const deps = { store, clock, sha256, fullNameOf, isTaken: async (id: string) => id === 'kv' }
  const { runnable, forget } = createRunnable({
    store,
    clock,
    people: people.slice(0, 2),
    fullNameOf,
  })
  const prepare = async () => ({ withheld, unknown: [] })
  return {
    runnable,
    ...createAgentAdministration({ ...deps, people, prepare, forget }),
  }
}

describe('I27: who may make which agent', () => {
  it('a user makes one of its own, which runs at once', async () => {
    const { apply, runnable } = setUp()
    const made = await apply(definitionOf(), by('anna', 'user'))
    expect(made.version).toMatchObject({ version: 1, approvedBy: 'anna', needs: [] })
    expect(await runnable('anna', 'notes')).toMatchObject({ version: 1 })
    expect(await runnable('ben', 'notes')).toBeUndefined()
  })

  it('a user shares none', async () => {
    const shared = definitionOf({ acl: { roles: { user: ['run'] } } })
    await expect(setUp().apply(shared, by('anna', 'user'))).rejects.toThrow(/^acl: /)
  })

  it('an author proposes whom it is shared with, and an operator is asked nothing', async () => {
    const shared = definitionOf({ acl: { roles: { user: ['run'] } } })
    const { version } = await setUp().apply(shared, by('carl', 'author'))
    expect([version.needs, version.approvedBy]).toEqual([
      [{ kind: 'share', what: 'role user: run' }],
      undefined,
    ])
    const own = await setUp().apply(shared, by('operator', 'operator'))
    expect(own.version.approvedBy).toBe('operator')
  })

  it('a key with a list of agents makes no other', async () => {
    const { apply, onDemand } = setUp()
    const asker = by('anna', 'user', ['orchestrator'])
    await expect(apply(definitionOf(), asker)).rejects.toThrow(/orchestrator and to no other agent/)
    const { name, description, agent } = definitionOf()
    await expect(onDemand({ name, description, agent }, asker)).rejects.toThrow(/talk to/)
  })

  it('an id of a plugin, of the core or of another principal is taken', async () => {
    const { apply } = setUp()
    await apply(definitionOf(), by('anna', 'user'))
    for (const id of ['kv', 'orchestrator', 'on-demand', 'notes'])
      await expect(apply(definitionOf({ id }), by('ben', 'user'))).rejects.toThrow(
        `id: ${id} is taken`,
      )
  })
})

describe('I8: what an operator has to allow', () => {
  it('is a tool that goes out, a longer limit, and waits with each new text', async () => {
    const { apply, approve, runnable } = setUp(['http__get'])
    const text = (instructions: string) =>
      definitionOf({ agent: { instructions, limits: { time_budget_ms: 600_000 } } })
    const { version } = await apply(text('One.'), by('anna', 'user'))
    expect(version.needs).toEqual([
      { kind: 'limit', what: 'time_budget_ms 600000' },
      { kind: 'tool', what: 'http__get' },
    ])
    expect(await runnable('anna', 'notes')).toBeUndefined()
    await approve('notes', version, by('operator', 'operator'))
    expect(await runnable('anna', 'notes')).toMatchObject({ version: 1, granted: ['http__get'] })
    const next = await apply(text('Two.'), by('anna', 'user'))
    expect(next.version.approvedBy).toBeUndefined()
    expect(await runnable('anna', 'notes')).toMatchObject({ version: 1 })
  })

  it('is approved for exactly the text that was looked at', async () => {
    const { apply, approve } = setUp(['http__get'])
    const { version } = await apply(definitionOf(), by('anna', 'user'))
    const another = { ...version, hash: 'f'.repeat(64) }
    await expect(approve('notes', another, by('operator', 'operator'))).rejects.toThrow(/another/)
  })

  it('I9: is all of one that was on demand, though it needs nothing', async () => {
    const { apply } = setUp()
    const { version } = await apply(definitionOf(), by('anna', 'user'), { from: 'ses_1' })
    expect([version.approvedBy, version.from]).toEqual([undefined, 'ses_1'])
  })

  it('I7: is nothing that one on demand has, but what an operator names', async () => {
    const { name, description } = definitionOf()
    const agentOf = (uses_tools: readonly string[]) => ({
      name,
      description,
      agent: definitionOf({ agent: { instructions: 'X', uses_tools } }).agent,
    })
    const { onDemand } = setUp(['http__get'])
    const named = agentOf(['http__get'])
    await expect(onDemand(named, by('anna', 'user'))).rejects.toThrow(/may not have tool http__get/)
    const operator = by('operator', 'operator')
    await expect(onDemand(agentOf(['http']), operator)).rejects.toThrow(/by its full name/)
    expect((await onDemand(named, operator)).granted).toEqual(['http__get'])
  })
})

describe('I8: an agent', () => {
  it('of an owner who cannot come in any more runs for no caller', async () => {
    const { apply, runnable } = setUp()
    await apply(definitionOf(), by('gone', 'user'))
    expect(await runnable('operator', 'notes')).toBeUndefined()
  })

  it('is looked at by an auditor, who runs none', () => {
    const shared = { owner: 'anna' }
    expect([...permissionsOn(shared, { principal: 'eve', role: 'auditor' })]).toEqual(['see'])
    expect([...permissionsOn(shared, { principal: 'ben', role: 'user' })]).toEqual([])
    expect([...permissionsOn(shared, { principal: 'anna', role: undefined })]).toEqual([])
  })

  it('that a caller may not see is answered like an agent that does not exist', async () => {
    const { apply, show } = setUp()
    await apply(definitionOf(), by('anna', 'user'))
    const messages = ['notes', 'nothing'].map((id) =>
      show(id, by('ben', 'user')).catch((error: Error) => error.message),
    )
    expect(new Set(await Promise.all(messages)).size).toBe(1)
  })

  it.each([
    ['instructions that name a file', { agent: { instructions: 'prompt.md' } }, 'instructions'],
    ['a key that there is not', { agent: { instructions: 'X', tools: [] } }, 'agent'],
    ['a permission that there is not', { acl: { roles: { user: ['own'] } } }, 'user'],
    ['a schedule without a task', { schedule: { when: { everyMinutes: 5 } } }, 'task'],
  ])('is refused with %s, by its place', (_what, more, place) => {
    const made = () => definitionOf(more)
    expect(made).toThrow(place)
  })

  it('needs nothing as long as it says nothing, and is compared line by line', () => {
    expect(needsOf(definitionOf())).toEqual([])
    const other = definitionOf({ agent: { instructions: 'You write.\nShortly.' } })
    expect(definitionDiff(definitionOf(), other)).toMatchObject({
      added: ['agent.instructions: Shortly.'],
      removed: [],
    })
  })
})
