import { describe, expect, it } from 'vitest'
import { createScheduleIndex } from '../../../src/features/schedules/store/schedules.ts'
import { scheduleOf } from '../../fakes/schedules.ts'
import { createSqliteDatabase, planOf } from '../../fakes/sqlite-database.ts'

function open() {
  const { database, sqlite } = createSqliteDatabase()
  const add = (id: string, state: string, manifest: object) =>
    sqlite
      .prepare(
        `INSERT INTO manifests (id, version, hash, tier, manifest, state, updated_at_ms)
         VALUES (?, '1.0.0', 'h', 'community', ?, ?, 1)`,
      )
      .run(id, JSON.stringify(manifest), state)
  return { database, sqlite, add, index: createScheduleIndex(database) }
}

describe('the list of all schedules', () => {
  it('Y10: names what manifests of enabled plugins schedule, in one read', async () => {
    const { add, index } = open()
    const cron = '0 8 * * *'
    add('clock', 'enabled', { name: 'Clock', schedule: cron })
    add('nameless', 'enabled', { schedule: cron })
    add('off', 'disabled', { name: 'Off', schedule: cron })
    add('plain', 'enabled', { name: 'Plain', description: '"schedule": "0 8 * * *"' })
    expect(await index.ofManifests()).toEqual([
      { plugin: 'clock', name: 'Clock', cron },
      { plugin: 'nameless', name: 'nameless', cron },
    ])
  })

  it('F11: finds what is late by an index, which a minute without any reads no row of', () => {
    const { sqlite } = open()
    const plan = planOf(
      sqlite,
      'SELECT body FROM schedules WHERE due_ms < 1 ORDER BY due_ms LIMIT 50',
    )
    expect(plan).toContain('schedules_by_due')
  })

  it('F11: is not changed by what is told late, and writes each event once', async () => {
    const { sqlite, index } = open()
    const told = (version: number, dueMs: number) => {
      const schedule = scheduleOf({ name: `v${version}` }, { version })
      const { id, owner } = schedule
      const data = { schedule: id, owner, name: schedule.spec.name }
      const place = { version, principal: 'ada', trace: '', atMs: 1 }
      return [
        {
          id,
          owner,
          version,
          dueMs,
          schedule,
          events: [{ type: 'schedule_added', data, ...place }],
        },
      ] as const
    }
    await index.tell(told(2, 200))
    await index.tell(told(1, 100))
    await index.tell(told(2, 200))
    expect(await index.late(150, 10)).toEqual([])
    expect(await index.late(250, 10)).toMatchObject([{ spec: { name: 'v2' } }])
    const [{ n }] = sqlite.prepare('SELECT count(*) AS n FROM audit').all() as [{ n: number }]
    expect(n).toBe(1)
  })
})
