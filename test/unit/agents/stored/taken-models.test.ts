import { describe, expect, it } from 'vitest'
import { agentDefinition } from '#contracts/manifest/agent-definition.ts'
import type { Role } from '#contracts/keys.ts'
import { createAgentAdministration } from '../../../../src/features/agents/stored/administration.ts'
import { createRunnable } from '../../../../src/features/agents/stored/runnable.ts'
import { createAgentStore } from '../../../../src/features/agents/store/stored-agents.ts'
import { sha256 } from '../../../fakes/kernel.ts'
import { createManualClock } from '../../../fakes/manual-clock.ts'
import { createSqliteDatabase } from '../../../fakes/sqlite-database.ts'

const served: Readonly<Record<string, string>> = {
  small: 'openai/small',
  large: 'openai/large',
  'openai/small': 'openai/small',
  'openai/large': 'openai/large',
}
const by = (principal: string, role: Role = 'user') => ({
  principal,
  role,
  trace: 't',
  requestId: 'r',
  asker: { principal, key: `key_${principal}` },
})
const operator = by('operator', 'operator')
const definition = (model: string, more: object = {}) =>
  agentDefinition.parse({
    id: 'notes',
    name: 'Notes',
    description: 'Keeps notes.',
    agent: { instructions: 'You keep notes.', model },
    ...more,
  })

/** Anna, who has a row and a key, and ben, who is in the list of people. */
function setUp() {
  const { database, sqlite } = createSqliteDatabase()
  const store = createAgentStore(database)
  const clock = createManualClock()
  const people = ['anna', 'ben'].map((principal) => ({ principal, role: 'user' as const }))
  const fullNameOf = (model: string) => served[model]
  const { forget, ...known } = createRunnable({ store, clock, people, fullNameOf })
  const prepare = async () => ({ withheld: [], unknown: [] })
  const about = { store, clock, sha256, people, prepare, forget, fullNameOf }
  const administration = createAgentAdministration({ ...about, isTaken: async () => false })
  sqlite.exec(`INSERT INTO principals (id, role, created_at_ms) VALUES ('anna', 'user', 0)`)
  const give = (models?: readonly string[]) => {
    const value = models ? `'${JSON.stringify(models)}'` : 'NULL'
    sqlite.exec(`UPDATE principals SET models = ${value} WHERE id = 'anna'`)
    forget()
  }
  return { ...administration, ...known, give }
}

describe('I8: a model that is taken from a principal', () => {
  it('is used no more by its agent: it is not run, not found and not listed', async () => {
    const { apply, runnable, isSeen, listRunnable, give } = setUp()
    await apply(definition('large'), by('anna'))
    expect(await runnable('anna', 'notes')).toBeDefined()
    give(['openai/small'])
    expect(await runnable('anna', 'notes')).toBeUndefined()
    expect(await listRunnable('anna')).toEqual([])
    // The agent is there, so that no other answers in its name.
    expect(await isSeen('anna', 'notes')).toBe(true)
    give()
    expect(await runnable('anna', 'notes')).toBeDefined()
  })

  it.each([
    ['its full name', 'openai/large', ['large'], true],
    ['its short name', 'large', ['openai/large'], true],
    ['the default of the deployment', 'default', ['small'], true],
    ['a list of which all are left', 'small, large', ['large', 'small'], true],
    ['a list of which one is taken', 'small, large', ['small'], false],
    ['a name that nobody serves any more', 'gone', ['small'], false],
  ] as const)('is known by %s', async (_what, model, models, isLeft) => {
    const { apply, runnable, give } = setUp()
    await apply(definition(model), by('anna'))
    give(models)
    expect((await runnable('anna', 'notes')) !== undefined).toBe(isLeft)
  })

  it('is used no more by others whom the owner lets run it, nor by an operator', async () => {
    const { apply, runnable, give } = setUp()
    await apply(definition('large'), by('anna'))
    await apply(definition('large', { acl: { principals: { ben: ['run'] } } }), operator)
    expect(await runnable('ben', 'notes')).toBeDefined()
    give(['small'])
    expect(await runnable('ben', 'notes')).toBeUndefined()
    expect(await runnable('operator', 'notes')).toBeUndefined()
  })

  it('does not come back with a rollback, a restore, an approval or another version', async () => {
    const { apply, rollBack, setState, approve, runnable, give } = setUp()
    await apply(definition('large'), by('anna'))
    const shared = definition('large', { acl: { roles: { user: ['run'] } } })
    await apply(definition('small'), by('anna'))
    const waiting = await apply(shared, by('anna', 'author'))
    expect(waiting.version.approvedBy).toBeUndefined()
    give(['small'])
    const refused = {
      code: 'request_invalid',
      message: /agent\.model: anna.*may not name "(openai\/)?large"/,
    }
    const { version, hash } = waiting.version
    await expect(approve('notes', { version, hash }, operator)).rejects.toMatchObject({
      code: 'request_invalid',
      message: expect.stringMatching(refused.message) as string,
    })
    await expect(rollBack('notes', 1, by('anna'))).rejects.toThrow(refused.message)
    await expect(rollBack('notes', 1, operator)).rejects.toThrow(refused.message)
    await expect(apply(definition('openai/large'), operator)).rejects.toThrow(refused.message)
    expect(await runnable('anna', 'notes')).toMatchObject({ version: 2 })
    give()
    await rollBack('notes', 1, by('anna'))
    await setState('notes', 'archived', by('anna'))
    give(['small'])
    await expect(setState('notes', 'active', by('anna'))).rejects.toThrow(refused.message)
    await expect(setState('notes', 'active', operator)).rejects.toThrow(refused.message)
  })

  it('stays with agents of who may name it, and with those of the operator', async () => {
    const { apply, runnable, give } = setUp()
    await apply(definition('large'), operator)
    give(['small'])
    expect(await runnable('operator', 'notes')).toBeDefined()
    const other = setUp()
    await other.apply(definition('small'), by('anna'))
    other.give(['small'])
    expect(await other.runnable('anna', 'notes')).toBeDefined()
  })
})
