import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { Database } from '../../../src/platform/d1/database.ts'
import {
  createKnownReadiness,
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

/** An isolate over a database that answers when the test says so, and notes in KV. */
function openIsolate(notes: Map<string, string>) {
  const answers: ((row: object | Error | null) => void)[] = []
  const first = () =>
    new Promise((resolve, reject) => {
      answers.push((row) => (row instanceof Error ? reject(row) : resolve(row)))
    })
  const database = { prepare: () => ({ bind: () => ({ first }) }) } as unknown as Database
  const onReady = vi.fn(async (_noted: string | undefined) => 'hash' as string | undefined)
  const behind: Promise<unknown>[] = []
  const readiness = createKnownReadiness({
    database,
    notes: {
      get: async (key) => notes.get(key) ?? null,
      put: async (key, value) => void notes.set(key, value),
      delete: async (key) => void notes.delete(key),
    },
    keepAlive: (work) => void behind.push(work),
    onReady,
  })
  const answer = async (row: object | Error | null) => {
    await vi.waitFor(() => expect(answers.length).toBeGreaterThan(0))
    answers.shift()!(row)
  }
  return { readiness, answer, asked: answers, onReady, settled: () => Promise.all(behind) }
}

describe('E9: an isolate that starts', () => {
  const yes = { isReady: 1, isOurs: 1 }
  const no = { isReady: 0, isOurs: 1 }
  const noteOf = async (): Promise<Map<string, string>> => {
    const notes = new Map<string, string>()
    const { readiness, answer, settled } = openIsolate(notes)
    const asked = readiness()
    await answer(yes)
    await asked
    await settled()
    return notes
  }

  it('waits for the database where no isolate noted it as ready, and notes it', async () => {
    const notes = new Map<string, string>()
    const { readiness, answer, onReady, settled } = openIsolate(notes)
    let isAnswered = false
    const asked = readiness().finally(() => (isAnswered = true))
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(isAnswered).toBe(false)
    await answer(yes)
    expect(await asked).toMatchObject({ state: 'ready' })
    await settled()
    expect([...notes]).toEqual([[`ready:${neededMigration}`, 'hash']])
    expect(onReady.mock.calls).toEqual([[undefined]])
  })

  it('goes on by that note, and asks the database once behind the answer', async () => {
    const notes = await noteOf()
    const { readiness, answer, asked, onReady, settled } = openIsolate(notes)
    expect(await readiness()).toMatchObject({ state: 'ready' })
    expect(await readiness()).toMatchObject({ state: 'ready' })
    expect(asked).toHaveLength(1)
    await answer(yes)
    await settled()
    await readiness()
    expect(asked).toHaveLength(0)
    expect(onReady.mock.calls).toEqual([['hash']])
  })

  it('refuses as soon as the database denies the note, removes it, and asks with each request', async () => {
    const notes = await noteOf()
    const { readiness, answer, settled } = openIsolate(notes)
    expect(await readiness()).toMatchObject({ state: 'ready' })
    await answer(no)
    await settled()
    expect(notes.size).toBe(0)
    const refused = readiness()
    await answer(no)
    expect(await refused).toMatchObject({ state: 'not_migrated' })
    const allowed = readiness()
    await answer(yes)
    expect(await allowed).toMatchObject({ state: 'ready' })
    await settled()
    expect(notes.size).toBe(1)
  })

  it('asks again behind a later answer if the database was away', async () => {
    const notes = await noteOf()
    const { readiness, answer, asked, settled } = openIsolate(notes)
    await readiness()
    await answer(new Error('D1_ERROR: network connection lost'))
    await settled()
    expect(await readiness()).toMatchObject({ state: 'ready' })
    expect(asked).toHaveLength(1)
  })
})
