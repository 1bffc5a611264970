import { describe, expect, it } from 'vitest'
import {
  createGrantedDatabase,
  toPluginDatabases,
} from '../../../../../src/features/plugins/capabilities/storage/granted-database.ts'
import { createPluginD1 } from '../../../../fakes/d1.ts'

const schema = `CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT);
INSERT INTO orders (customer) VALUES ('Ada'), ('Ada'), ('Bob');`

function open(access: 'read' | 'write') {
  const { database, sqlite, asked } = createPluginD1(schema)
  const granted = createGrantedDatabase({ binding: 'SQL', access }, new Map([['SQL', database]]))
  return {
    ...granted,
    asked,
    count: () => sqlite.prepare('SELECT count(*) AS n FROM orders').get(),
  }
}

describe('a database that may be read', () => {
  it.each([
    ['SELECT customer FROM orders WHERE id = 1', [{ customer: 'Ada' }]],
    [' -- a comment; with a semicolon\nSELECT 1 AS a;', [{ a: 1 }]],
    ['SELECT \';\' AS a, "id" FROM [orders] WHERE `id` = 1 /* ; */ ; -- end', [{ a: ';', id: 1 }]],
    ["SELECT 'it''s; DELETE' AS a", [{ a: "it's; DELETE" }]],
    ['WITH a AS (SELECT 1 AS x) SELECT x FROM a', [{ x: 1 }]],
    ['values (1)', [{ column1: 1 }]],
    [
      "SELECT name FROM pragma_table_info('orders') ORDER BY name",
      [{ name: 'customer' }, { name: 'id' }],
    ],
    ['SELECT id FROM orders ORDER BY id DESC', [{ id: 3 }, { id: 2 }, { id: 1 }]],
    ['SELECT 1 AS a -- the end', [{ a: 1 }]],
  ])('I20: answers %s', async (sql, rows) => {
    expect(await open('read').query(sql)).toEqual({ rows, truncated: false, changes: 0 })
  })

  it('I20: binds values by position', async () => {
    const { query } = open('read')
    const sql = 'SELECT count(*) AS n FROM orders WHERE customer = ? AND id > ?'
    expect((await query(sql, ['Ada', 1])).rows).toEqual([{ n: 1 }])
    expect(
      (await query('SELECT count(*) AS n FROM orders WHERE customer = ?', ["' OR 1=1 --"])).rows,
    ).toEqual([{ n: 0 }])
  })

  it.each([
    ['DELETE FROM orders', /DELETE writes/],
    ['insert into orders (customer) values (1)', /INSERT writes/],
    ['DROP TABLE orders', /DROP writes/],
    ['PRAGMA writable_schema = 1', /PRAGMA is no statement/],
    ["ATTACH 'x' AS y", /ATTACH is no statement/],
    ['VACUUM', /VACUUM is no statement/],
    ['BEGIN', /BEGIN is no statement/],
    ['', /this is no statement/],
    ['(SELECT 1)', /this is no statement/],
    ['SELECT 1; DELETE FROM orders', /one statement/],
    ['SELECT 1;;SELECT 2', /one statement/],
    ["SELECT 1; 'x'", /one statement/],
    ['SELECT 1; /* -- */ DELETE FROM orders; \n */', /one statement/],
    ['SELECT 1\0; DELETE FROM orders', /NUL/],
    ["SELECT 'a", /' that does not end/],
    ['SELECT "a', /" that does not end/],
    ['SELECT 1 /* a', /\/\* that does not end/],
    ['SELECT [a', /\[ that does not end/],
    // SQLite reads $x(') as one parameter: the quote begins no string there.
    ["SELECT $x('); DELETE FROM orders --')", /parameters are \?/],
    ['SELECT :name', /parameters are \?/],
    ['SELECT @name', /parameters are \?/],
    ['WITH a AS (SELECT 1) DELETE FROM orders', /SQLite: near "DELETE"/],
    ['SELECT 1) ; DELETE FROM orders', /one statement/],
    ['SELECT 1); --', /SQLite: /],
  ])('G3: refuses %s', async (sql, message) => {
    const { query, count } = open('read')
    await expect(query(sql)).rejects.toMatchObject({ code: 'tool_failed', message })
    expect(count()).toEqual({ n: 3 })
  })

  it('G3: refuses a statement that is too long', async () => {
    await expect(open('read').query(`SELECT ${'1'.repeat(50_001)}`)).rejects.toMatchObject({
      message: expect.stringContaining('at most 50000') as string,
    })
  })

  it('G3: an explained statement does not run', async () => {
    const { query, count } = open('read')
    expect((await query('EXPLAIN DELETE FROM orders')).rows.length).toBeGreaterThan(0)
    expect(count()).toEqual({ n: 3 })
  })

  it('hands on at most 1,000 rows and 256 KiB, and says that there was more', async () => {
    const numbers = (n: number, column: string) =>
      `WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a WHERE x < ${n}) SELECT ${column} FROM a`
    const many = await open('read').query(numbers(5_000, 'x'))
    expect([many.rows.length, many.truncated]).toEqual([1_000, true])
    const large = await open('read').query(numbers(100, 'hex(zeroblob(5000)) AS y'))
    expect(large.truncated).toBe(true)
    expect(large.rows.length).toBeLessThan(27)
    expect((await open('read').query(numbers(1_000, 'x'))).truncated).toBe(false)
  })

  it('says what SQLite says of a statement', async () => {
    await expect(open('read').query('SELECT missing FROM orders')).rejects.toMatchObject({
      message: 'SQLite: no such column: missing',
      transient: false,
    })
    await expect(open('read').query('SELECT ?')).resolves.toBeDefined()
    await expect(open('read').query('SELECT ?', [true as never])).rejects.toMatchObject({
      message: expect.stringContaining('parameters') as string,
    })
  })

  it('says nothing of a fault that is not about the statement', async () => {
    const broken = {
      prepare: () => ({
        bind: () => ({
          all: () => Promise.reject(new Error('D1_ERROR: internal error at 10.0.0.7')),
        }),
      }),
    }
    const { query } = createGrantedDatabase(
      { binding: 'SQL', access: 'read' },
      new Map([['SQL', broken]]),
    )
    await expect(query('SELECT 1')).rejects.toMatchObject({
      message: 'The database did not answer.',
      transient: true,
    })
  })
})

describe('a database that may be written', () => {
  it('I20: tells how many rows a statement changed', async () => {
    const { query, count } = open('write')
    expect(await query('INSERT INTO orders (customer) VALUES (?)', ['Eve'])).toMatchObject({
      changes: 1,
    })
    expect(
      await query('DELETE FROM orders WHERE customer = ? RETURNING id', ['Ada']),
    ).toMatchObject({
      rows: [{ id: 1 }, { id: 2 }],
    })
    expect(count()).toEqual({ n: 2 })
  })

  it.each([
    'PRAGMA writable_schema = 1',
    "ATTACH 'x' AS y",
    'COMMIT',
    'DELETE FROM orders; DELETE FROM orders',
    'REINDEX',
  ])('G3: refuses %s', async (sql) => {
    await expect(open('write').query(sql)).rejects.toMatchObject({ code: 'tool_failed' })
  })
})

describe('which databases there are', () => {
  const d1 = () => createPluginD1('').database

  it("G3: the deployment's own is none, under no name", () => {
    const own = d1()
    const env = { DB: own, ALIAS: own, SQL: d1(), KV: {}, TEXT: 'x' }
    const found = toPluginDatabases(['DB', 'ALIAS', 'SQL', 'KV', 'TEXT', 'NONE', 'toString'], env)
    expect([...found.keys()]).toEqual(['SQL'])
  })

  it('says how to add one that is missing', async () => {
    const { query } = createGrantedDatabase({ binding: 'SQL', access: 'read' }, new Map())
    await expect(query('SELECT 1')).rejects.toMatchObject({
      message: expect.stringMatching(
        /\[\[d1_databases\]\].*binding = "SQL".*ISOLA_SQL_DATABASES=SQL/,
      ) as string,
    })
  })
})
