import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AuditCursor } from '../../../src/contracts/operations.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import { createRetention } from '../../../src/features/record/store/retention.ts'
import { createSessionIndex } from '../../../src/features/record/store/session-index.ts'
import { createUsageReport } from '../../../src/features/record/store/usage-report.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { storedEvent } from '../../fakes/events.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'
import stored from '../../fixtures/stored/d1.json' with { type: 'json' }
import { filled } from '../../fixtures/stored/filled.ts'

const root = join(import.meta.dirname, '../../..')

/** What the version before the record was a row a run had in D1, with the migrations since. */
function upgraded() {
  const { database, sqlite } = createSqliteDatabase({ isMigrated: false })
  sqlite.exec('PRAGMA foreign_keys = OFF')
  for (const { type, sql } of stored.tables) if (type === 'table') sqlite.exec(sql)
  for (const { name, type, columns, rows } of stored.tables) {
    if (type !== 'table') continue
    const marks = columns.map(() => '?').join(', ')
    const insert = sqlite.prepare(`INSERT INTO "${name}" (${columns.join(', ')}) VALUES (${marks})`)
    for (const row of rows) insert.run(...row.map((value) => filled(value) as string))
  }
  for (const { type, sql } of stored.tables) if (type !== 'table') sqlite.exec(sql)
  const known = sqlite.prepare('SELECT max(name) AS name FROM d1_migrations').get()?.['name']
  const folder = join(root, 'migrations')
  const since = readdirSync(folder).filter((name) => name > String(known))
  expect(since).toContain('0012_audit_runs.sql')
  for (const name of since.toSorted()) sqlite.exec(readFileSync(join(folder, name), 'utf8'))
  const before = sqlite.prepare('SELECT * FROM audit ORDER BY id').all()
  return { database, sqlite, before }
}

it('N-1: the record and the list of an earlier version are read, go on, and expire', async () => {
  const { database, sqlite, before } = upgraded()
  const reader = createAuditReader(database)
  const sink = createAuditSink(database)
  expect(before.length).toBeGreaterThan(0)
  const read = async () => {
    const seqs: string[] = []
    for (let after: AuditCursor | undefined; ;) {
      const { records, next } = await reader.query({ limit: 50, ...(after && { after }) })
      seqs.push(...records.map(({ session, seq, type }) => `${session} ${seq} ${type}`))
      if (!next) return seqs
      after = next
    }
  }
  const told = before.map((row) => `${row['session']} ${row['seq']} ${row['type']}`)
  expect(await read()).toEqual(told)

  // A place in it that a client holds still leads to what comes after it.
  const held = { id: Number(before[3]?.['id']) }
  const { records } = await reader.query({ limit: 500, after: held })
  expect(records.map(({ seq }) => seq)).toEqual(before.slice(4).map((row) => row['seq']))

  const listed = sqlite.prepare(`SELECT * FROM sessions WHERE kind = 'named' LIMIT 1`).get()!
  const [session, principal] = [String(listed['id']), String(listed['principal'])]
  const owner = { session, principal, sinceMs: Number(listed['since_ms']) }
  const seq = await sink.watermark(owner)
  expect(seq).toBe(listed['seq'])
  const nowMs = Math.max(...before.map((row) => Number(row['at_ms']))) + 86_400_000
  const about = { run: 'run_next', agent: 'orchestrator', trace: 'aa', atMs: nowMs }
  const next = storedEvent({ ...about, seq: seq + 1, type: 'run_started', data: {} })
  await sink.append(owner, batchOf([next], { usedAtMs: nowMs }))
  expect(await read()).toEqual([...told, `${session} ${seq + 1} run_started`])
  const { records: own } = await reader.query({ session, limit: 500 })
  expect(own.at(-1)?.seq).toBe(seq + 1)
  const { sessions } = await createSessionIndex(database).list({ limit: 500 })
  expect(sessions.find(({ id }) => id === session)?.usedAtMs).toBe(nowMs)
  const span = { sinceMs: 0, untilMs: nowMs + 1, limit: 500 }
  const { total } = await createUsageReport(database).sum({ by: 'principal', ...span })
  expect(total.runs).toBe(new Set([...before.map((row) => row['run']), 'run_next', '']).size - 1)

  await createRetention({
    database,
    clock: { nowMs: () => nowMs },
    keepAuditMs: 3_600_000,
    keep: { keepNamedMs: 1e12, keepStatelessMs: 1e12, keepDraftsMs: 1e12 },
    tell: async () => {},
  })()
  const left = sqlite.prepare(`SELECT count(*) AS count FROM audit WHERE session > ''`).get()
  expect(left?.['count']).toBe(0)
  expect((await read()).at(-1)).toBe(`${session} ${seq + 1} run_started`)
})
