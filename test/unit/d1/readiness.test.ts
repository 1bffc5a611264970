import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Database } from '../../../src/platform/d1/database.ts'
import {
  neededMigration,
  readDatabaseState,
  readReadiness,
} from '../../../src/platform/d1/readiness.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

const table = 'CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE)'

describe('readiness', () => {
  it('names the newest file of migrations/', () => {
    const folder = join(import.meta.dirname, '../../../migrations')
    expect(readdirSync(folder).toSorted().at(-1)).toBe(neededMigration)
  })

  it('is ready once that migration is applied', async () => {
    const { database, sqlite } = createSqliteDatabase()
    sqlite.exec(`${table}; INSERT INTO d1_migrations (name) VALUES ('${neededMigration}')`)
    expect(await readReadiness(database)).toEqual({ state: 'ready', migration: neededMigration })
  })

  it.each([
    ['an empty database', ''],
    ['a database with no migration', table],
  ])('says with which command to migrate %s', async (_name, sql) => {
    const { database, sqlite } = createSqliteDatabase({ isMigrated: false })
    sqlite.exec(sql)
    expect(await readReadiness(database)).toMatchObject({
      state: 'not_migrated',
      message: expect.stringContaining('npx wrangler d1 migrations apply DB --remote'),
    })
  })

  it('refuses a database of a build before the first release by name, whatever its migrations are', async () => {
    const { database, sqlite } = createSqliteDatabase({ isMigrated: false })
    sqlite.exec(`${table}; INSERT INTO d1_migrations (name) VALUES ('0001_init.sql'), ('0002.sql')`)
    expect(await readReadiness(database)).toEqual({
      state: 'not_migrated',
      message: expect.stringMatching(/^The database \(DB\) was made by a build before the first/),
    })
  })

  it('is no refusal when the database does not answer', async () => {
    const down = {
      prepare: () => {
        throw new Error('D1_ERROR: network connection lost')
      },
    }
    expect(await readReadiness(down as unknown as Database)).toEqual({ state: 'unreachable' })
  })
})

describe('the state of the database', () => {
  const never = { sleep: () => new Promise<void>(() => undefined) }
  const soon = { sleep: async () => undefined }
  const hanging = { prepare: () => ({ first: () => new Promise(() => undefined) }) }
  const broken = {
    prepare: () => {
      throw new Error('D1_ERROR: network connection lost')
    },
  }
  it.each([
    ['ok when it answers', createSqliteDatabase({ isMigrated: false }).database, never, 'ok'],
    ['unreachable when it fails', broken, never, 'unreachable'],
    ['unreachable when it takes too long', hanging, soon, 'unreachable'],
  ])('N12: is %s', async (_name, database, clock, state) => {
    const options = { clock, timeoutMs: 1 }
    expect(await readDatabaseState(database as unknown as Database, options)).toBe(state)
  })
})
