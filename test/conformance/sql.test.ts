import { expect, test } from 'vitest'
import { bundledEntries } from '../fakes/bundled.ts'
import { createPluginD1 } from '../fakes/d1.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { describeTool } from './describe-tool.ts'
import { toSubject } from './tool-subject.ts'

const schema = `CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT);
INSERT INTO orders (customer) VALUES ('Ada'), ('Ada'), ('Bob');`

function open() {
  const { database, sqlite } = createPluginD1(schema)
  const sessions = createFakeGateway()
  const entries = bundledEntries('sql', { sessions, databases: new Map([['SQL', database]]) })
  const call = async (name: string, input: { sql: string; parameters?: string[] }) =>
    entries.find(({ tool }) => tool.name === name)!.tool.execute(input, createToolContext())
  const count = () => sqlite.prepare('SELECT count(*) AS n FROM orders').get()
  return { sessions, entries, call, count }
}

describeTool('sql__query, in process', {
  inputs: {
    succeed: { sql: 'SELECT customer FROM orders WHERE id = ?', parameters: [1] },
    invalid: { sql: 7 },
    fail: [{ sql: 'DELETE FROM orders' }, { sql: 'SELECT 1; SELECT 2' }, { sql: 'SELECT none' }],
    long: { sql: "SELECT hex(zeroblob(20000)) || 'NEEDLE' || hex(zeroblob(1000)) AS a" },
  },
  create: () => {
    const { entries, sessions } = open()
    return toSubject(entries, 'sql__query', sessions)
  },
})

test('I20: the tool that writes asks a person first and may not be repeated; the other one may', () => {
  const [query, execute] = open().entries
  expect(query).toMatchObject({ isReadOnly: true })
  expect(query).not.toHaveProperty('needsApproval')
  expect(execute).toMatchObject({ isReadOnly: false, isIdempotent: false, needsApproval: true })
})

test('G3: a tool that says it only reads cannot write, though the plugin may', async () => {
  const { call, count } = open()
  const sql = 'DELETE FROM orders WHERE customer = ?'
  const refused = await call('sql__query', { sql, parameters: ['Ada'] })
  expect(refused).toMatchObject({ ok: false, error: { message: /DELETE writes/ } })
  expect(count()).toEqual({ n: 3 })
  const done = await call('sql__execute', { sql, parameters: ['Ada'] })
  expect(done).toMatchObject({ ok: true, output: { changes: 2 } })
  expect(count()).toEqual({ n: 1 })
})
