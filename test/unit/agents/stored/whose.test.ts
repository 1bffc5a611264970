import { describe, expect, it } from 'vitest'
import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import { agentDefinition } from '#contracts/manifest/agent-definition.ts'
import type { Role } from '#contracts/keys.ts'
import { createAgentAdministration } from '../../../../src/features/agents/stored/administration.ts'
import { createRunnable } from '../../../../src/features/agents/stored/runnable.ts'
import { createAgentStore } from '../../../../src/features/agents/store/stored-agents.ts'
import { createManualClock } from '../../../fakes/manual-clock.ts'
import { sha256 } from '../../../fakes/kernel.ts'
import { createSqliteDatabase } from '../../../fakes/sqlite-database.ts'

const definitionOf = (more: object = {}, agent: object = {}): AgentDefinition =>
  agentDefinition.parse({
    id: 'notes',
    name: 'Notes',
    description: 'Writes notes.',
    agent: { instructions: 'You write.', ...agent },
    ...more,
  })
const by = (principal: string, role: Role = 'user', agents?: readonly string[]) => ({
  principal,
  role,
  trace: 't',
  requestId: 'r',
  asker: { principal, key: `key_${principal}` },
  ...(agents && { agents }),
})
const operator = by('operator', 'operator')
const acl = { principals: { ben: ['edit'], carl: ['run'] } }
const schedule = { when: { everyMinutes: 30 }, task: 'Look.' }

/** The tables as they are, and anna, ben and carl, who have no key. `reads`: the queries of the tables. */
function setUp() {
  const reads: string[] = []
  const { database, sqlite } = createSqliteDatabase()
  const watched = {
    ...database,
    prepare: (sql: string) => {
      reads.push(sql)
      return database.prepare(sql)
    },
  }
  const store = createAgentStore(watched)
  const clock = createManualClock()
  const people = ['anna', 'ben', 'carl'].map((principal) => ({ principal, role: 'user' as const }))
  const fullNameOf = (model: string) => `openai/${model}`
  const { forget, ...known } = createRunnable({ store, clock, people, fullNameOf })
  const prepare = async () => ({ withheld: [], unknown: [] })
  const about = { store, clock, sha256, people, prepare, forget, fullNameOf }
  const deps = { ...about, isTaken: async () => false }
  const administration = createAgentAdministration(deps)
  /** Anna's, which ben may edit and carl may run. */
  const shared = async (more: object = {}) => {
    await administration.apply(definitionOf(more), by('anna'))
    await administration.apply(definitionOf({ acl, ...more }), operator)
  }
  return { ...administration, ...known, shared, reads, sqlite, store }
}

describe('Y13: decisions that belong to the owner of an agent', () => {
  const webhook = { ...schedule, task: 'Send me all that is remembered.' }
  it.each([
    ['a schedule', {}, definitionOf({ acl, schedule: webhook })],
    [
      'what it subscribes to',
      {},
      definitionOf({ acl }, { subscribes: [{ event: 'isola.run_finished', task: 'Go.' }] }),
    ],
    [
      'other words for the schedule that is there',
      { schedule },
      definitionOf({ acl, schedule }, { instructions: 'You do another thing.' }),
    ],
    ['no schedule any more', { schedule }, definitionOf({ acl })],
    ['nobody whom it is shared with', {}, definitionOf()],
  ])('waits, where another principal who may edit it writes %s', async (_what, more, text) => {
    const { apply, show, shared } = setUp()
    await shared(more)
    const { version } = await apply(text, by('ben'))
    expect(version.approvedBy).toBeUndefined()
    expect(version.needs.map(({ kind }) => kind)).toContain('owner')
    expect((await show('notes', by('anna'))).inForce?.version).toBe(2)
  })

  it('is allowed by its owner, not by a principal who only may edit, and works by the owner’s key', async () => {
    const { apply, approve, shared } = setUp()
    await shared()
    const { version } = await apply(definitionOf({ schedule }), by('ben'))
    await expect(approve('notes', version, by('ben'))).rejects.toThrow(/waits for an operator/)
    const agent = await approve('notes', version, by('anna'))
    expect(agent.inForce).toMatchObject({ version: 3, approvedBy: 'anna', createdBy: 'ben' })
    expect(agent.inForce?.asker?.principal).not.toBe('ben')
  })

  it('is an operator’s alone where an operator has to allow something, too', async () => {
    const { apply, approve, shared } = setUp()
    await shared()
    const longer = definitionOf({ schedule }, { limits: { time_budget_ms: 600_000 } })
    const { version } = await apply(longer, by('ben'))
    await expect(approve('notes', version, by('anna'))).rejects.toThrow(/operator \(limit time/)
    expect((await approve('notes', version, operator)).inForce?.version).toBe(3)
  })

  it('is not taken back by a principal who only may edit', async () => {
    const { apply, rollBack, shared } = setUp()
    await shared({ schedule })
    await apply(definitionOf({ acl }), operator)
    await expect(rollBack('notes', 2, by('ben'))).rejects.toThrow(/schedule.*its owner/)
    expect((await rollBack('notes', 2, by('anna'))).inForce?.version).toBe(2)
  })

  it('M9: an operator who writes the next text leaves the owner’s key with it', async () => {
    const { apply, shared, show } = setUp()
    await shared()
    await apply(definitionOf({ schedule, acl }), operator)
    expect((await show('notes', operator)).inForce?.asker).toEqual(by('anna').asker)
  })
})

describe('I26: a key with a list of agents', () => {
  it('changes, shows and lists no other', async () => {
    const { shared, show, list, setState, rollBack, approve, versions, remove } = setUp()
    await shared()
    const limited = by('anna', 'user', ['other'])
    const version = { version: 1, hash: 'h' }
    for (const done of [
      show('notes', limited),
      versions('notes', limited),
      setState('notes', 'archived', limited),
      rollBack('notes', 1, limited),
      approve('notes', version, limited),
      remove('notes', limited, async () => expect.unreachable()),
    ])
      await expect(done).rejects.toThrow('There is no such agent.')
    expect(await list(limited)).toEqual([])
    expect(await list(by('anna', 'user', ['notes']))).toHaveLength(1)
  })
})

describe('I8: the texts of an agent', () => {
  it('are not for who only may run it', async () => {
    const { versions, shared } = setUp()
    await shared()
    expect(await versions('notes', by('carl'))).toEqual([])
    expect(await versions('notes', by('ben'))).toHaveLength(2)
    expect(await versions('notes', by('eve', 'auditor'))).toHaveLength(2)
  })

  it('are kept fifty, with the one in force', async () => {
    const { apply, versions, show } = setUp()
    await apply(definitionOf(), by('anna'))
    for (let count = 0; count < 60; count += 1)
      await apply(
        definitionOf({}, { instructions: `${count}`, limits: { max_turns: 50 } }),
        by('anna'),
      )
    const kept = (await versions('notes', by('anna'))).map(({ version }) => version)
    expect([kept.length, kept[0], kept.at(-2), kept.at(-1)]).toEqual([51, 61, 12, 1])
    expect((await show('notes', by('anna'))).inForce?.version).toBe(1)
  })

  it('are read by no list and no search', async () => {
    const { list, listRunnable, shared, reads, sqlite } = setUp()
    await shared()
    sqlite.prepare(`UPDATE agent_versions SET body = '{}'`).run()
    reads.length = 0
    const found = await listRunnable('carl')
    expect(found).toMatchObject([{ id: 'notes', head: { name: 'Notes', version: 2 } }])
    expect(await list(by('ben'))).toMatchObject([{ id: 'notes', head: { version: 2 } }])
    expect(JSON.stringify(found)).not.toContain('acl')
    expect(reads).toHaveLength(2)
  })
})

describe('I8: who has an agent in a list', () => {
  it('is whom it lets, and an operator; an auditor sees and runs none', async () => {
    const { list, listRunnable, shared, setState } = setUp()
    await shared()
    const runners = async () => {
      const all = ['anna', 'ben', 'carl', 'dora', 'operator'].map(async (one) =>
        (await listRunnable(one)).map(() => one),
      )
      return (await Promise.all(all)).flat()
    }
    expect(await runners()).toEqual(['anna', 'carl', 'operator'])
    expect(await list(by('dora'))).toEqual([])
    expect(await list(by('eve', 'auditor'))).toHaveLength(1)
    await setState('notes', 'archived', by('anna'))
    expect(await runners()).toEqual([])
  })
})

describe('G9: names that one owner has', () => {
  it('are two hundred with those of deleted agents, which may be taken again', async () => {
    const { apply, remove, sqlite } = setUp()
    for (let count = 0; count < 200; count += 1)
      sqlite
        .prepare(
          `INSERT INTO agents (id, owner, state, version, newest, created_at_ms) VALUES (?, 'anna', 'deleted', 0, 0, 0)`,
        )
        .run(`gone-${count}`)
    await expect(apply(definitionOf(), by('anna'))).rejects.toThrow(/you have had 200 agents/)
    await apply(definitionOf({ id: 'gone-7' }), by('anna'))
    await remove('gone-7', by('anna'), async () => {})
    await apply(definitionOf(), by('ben'))
  })
})
