import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { tablesMark, tablesVersion } from '#contracts/objects.ts'
import { withTables, type UpgradeStep } from '../../src/compose/object-upgrades.ts'

/** An object with these tables, over SQLite in memory. */
function open(schema = '', values: readonly [string, unknown][] = []) {
  const sqlite = new DatabaseSync(':memory:')
  sqlite.exec(schema)
  const storage = {
    sql: { exec: (query: string) => sqlite.prepare(query).all() },
    kv: { list: () => values },
    transactionSync: (work: () => void) => work(),
  }
  const state = { storage, id: { toString: () => 'abc' } } as unknown as DurableObjectState
  const dump = () => sqlite.prepare('SELECT name, sql FROM sqlite_master').all()
  return { state, dump, sqlite }
}
const marked = `CREATE TABLE items (${tablesMark} key TEXT)`
const older = 'CREATE TABLE items (key TEXT)'
const adds = (column: string): UpgradeStep => ({
  Session: ({ sql }) => void sql.exec(`ALTER TABLE items ADD COLUMN ${column} TEXT`),
})

describe('an object', () => {
  it.each([
    ['that has nothing', ''],
    ['whose tables are of this version', marked],
    ['that has jobs of its library besides', `${marked}; CREATE TABLE cf_agents_jobs (id TEXT)`],
  ])('%s is opened, and nothing is written', (_what, schema) => {
    const { state, dump } = open(schema)
    const before = dump()
    expect(withTables('Session', state)).toBe(state)
    expect(dump()).toEqual(before)
  })

  it.each(['Session', 'Principal', 'Catalog', 'PluginService', 'McpServer'] as const)(
    'of %s with a table of a build before the first release is refused by name and left as it is',
    (kind) => {
      const { state, dump } = open(`${marked.replace('items', 'other')}; ${older}`)
      const before = dump()
      expect(() => withTables(kind, state)).toThrow(
        `The ${kind} object abc was made by a build before the first release of Isola, is not read and was not changed: deploy this version under another name (docs/upgrading.md).`,
      )
      expect(dump()).toEqual(before)
    },
  )

  it('of McpServer with values and no table is refused as well', () => {
    const { state } = open('', [['token', 1]])
    expect(() => withTables('McpServer', state)).toThrow('before the first release')
    expect(withTables('Session', state)).toBe(state)
  })

  it('goes through the steps that it has not had, whatever made its tables', () => {
    const { state, sqlite } = open(marked)
    const to = (...steps: readonly UpgradeStep[]) => ({ version: 1 + steps.length, steps })
    withTables('Session', state, to(adds('a')))
    // A table of version 2 beside it.
    sqlite.exec('CREATE TABLE todo (/* isola tables 2 */ key TEXT)')
    withTables('Session', state, to(adds('a'), adds('b')))
    withTables('Session', state, to(adds('a'), adds('b')))
    const columns = sqlite.prepare(`SELECT name FROM pragma_table_info('items')`).all()
    expect(columns.map(({ name }) => name)).toEqual(['key', 'a', 'b'])
  })

  it('of a class that a step leaves alone has nothing written', () => {
    const { state, dump } = open(marked)
    const before = dump()
    withTables('Principal', state, { version: 2, steps: [adds('a')] })
    expect(dump()).toEqual(before)
  })

  it('that a newer version has changed is refused', () => {
    const { state } = open(marked)
    withTables('Session', state, { version: tablesVersion + 1, steps: [adds('a')] })
    expect(() => withTables('Session', state)).toThrow('was written by a newer version of Isola')
    const made = open('CREATE TABLE items (/* isola tables 2 */ key TEXT)')
    expect(() => withTables('Session', made.state)).toThrow('by a newer version of Isola')
  })
})
