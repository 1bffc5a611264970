import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { giveDatabase } from './migrated.mjs'
import { freePort } from './server.ts'

const state = mkdtempSync(join(tmpdir(), 'isola-e2e-older-'))
afterAll(() => rmSync(state, { recursive: true, force: true }))

const d1 = join(state, 'v3', 'd1', 'miniflare-D1DatabaseObject')

/** Works with the file of the local database. */
function inDatabase<T>(work: (database: DatabaseSync) => T): T {
  const files = readdirSync(d1).filter((name) => name.endsWith('.sqlite'))
  const [found] = files.filter((name) => name !== 'metadata.sqlite')
  const database = new DatabaseSync(join(d1, found!))
  try {
    return work(database)
  } finally {
    database.close()
  }
}

it('M7: npm start refuses the folder of a build before the first release, and leaves it as it is', async () => {
  giveDatabase(state)
  // As such a build left it: its first migrations, and a row.
  inDatabase((database) =>
    database.exec(`DELETE FROM d1_migrations;
      INSERT INTO d1_migrations (name) VALUES ('0001_init.sql'), ('0002_given_up_runs.sql');
      INSERT INTO principals (id, role, created_at_ms) VALUES ('ann', 'user', 1)`),
  )
  rmSync(join(d1, 'isola-migrations'), { force: true })
  const contents = () =>
    inDatabase((database) =>
      ['d1_migrations', 'principals', 'sqlite_master'].map((table) =>
        database.prepare(`SELECT * FROM ${table}`).all(),
      ),
    )
  const before = contents()
  const port = String(await freePort())
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) =>
    execFile(
      process.execPath,
      ['scripts/start.mjs'],
      { env: { ...process.env, ISOLA_STATE: state, PORT: port, ISOLA_MODEL: '' } },
      (error, _stdout, stderr) => resolve({ code: error?.code, stderr }),
    ),
  )
  expect(code).toBe(1)
  expect(stderr.trim()).toBe(
    `${state} was made by a build before the first release of Isola, is not read and was not changed: give this version a folder of its own (ISOLA_STATE=<folder> npm start), or move that one away.`,
  )
  expect(contents()).toEqual(before)
})
