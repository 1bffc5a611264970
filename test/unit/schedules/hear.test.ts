import { describe, expect, it } from 'vitest'
import type { Emitted } from '../../../src/runtime/session/types/audit-sink.ts'
import { saidLabel } from '#contracts/label.ts'
import { createHear } from '../../../src/features/schedules/hear.ts'
import { createKeeper, type KeeperDeps } from '../../../src/features/schedules/keeper.ts'
import { createScheduleRows, type ScheduleStorage } from '../../../src/features/schedules/rows.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'
import { minuteMs, scheduleOf } from '../../fakes/schedules.ts'

const id = 'sub_0000000000000000000001'
const hourMs = 60 * minuteMs

/** An object with a subscription, and what its SQLite was asked. */
function open(more: Partial<Parameters<typeof scheduleOf>[1]> = {}, runs = 1_000) {
  const plain = createPrincipalStorage()
  const asked: string[] = []
  const storage = {
    ...plain,
    sql: {
      exec: (query: string, ...values: never[]) => {
        asked.push(query)
        return plain.sql.exec(query, ...values)
      },
    },
  } as unknown as ScheduleStorage
  const rows = createScheduleRows(storage)
  const clock = { at: 1_790_000_000_000 }
  const nowMs = () => clock.at
  const keeper = createKeeper(rows, storage, { clock: { nowMs }, sha256 } as unknown as KeeperDeps)
  const when = { event: 'shop.paid', of: 'own', ttlMs: hourMs * 100, maxDepth: 4 } as const
  const { nextMs: _, ...schedule } = scheduleOf({ when, daily: { runs } }, { id, ...more })
  rows.put(schedule)
  const parts = { rows, keeper, storage, nowMs, wake: () => {} }
  const hear = createHear({ ...parts, checkUrl: (url) => new URL(url), mayBegin: async () => true })
  let seq = 0
  const tell = async (event: Partial<Emitted> = {}) => {
    seq += 1
    const place = { principal: 'ada', session: 'ses', run: 'run', agent: 'clerk', trace: 't' }
    const said = { id: `ses:${seq}`, name: 'shop.paid', atMs: clock.at, payload: {} }
    await hear({ event: { ...place, ...said, label: saidLabel, ...event } })
  }
  const skipped = () =>
    rows
      .slots(id, { limit: 5_000, state: 'skipped' })
      .map(({ reason, count = 1 }) => `${count} ${reason}`)
  const told = () => rows.untold(9).flatMap(({ events }) => events)
  return { rows, clock, tell, skipped, told, asked }
}

describe('events that a subscription cannot take', () => {
  it('Y28: are one stop an hour behind a full queue, which counts them', async () => {
    const { clock, tell, skipped, told, rows } = open()
    for (let time = 0; time < 150; time += 1) await tell()
    expect(rows.open(id)).toHaveLength(100)
    expect(skipped()).toEqual(['50 100 events wait already'])
    expect(told()).toHaveLength(1)
    clock.at += 2 * hourMs
    await tell()
    expect(skipped()).toEqual(['1 100 events wait already', '50 100 events wait already'])
    expect(told()).toHaveLength(2)
  })

  it('Y28: are one stop an hour once its day is used up, and wait for nothing', async () => {
    const { tell, skipped, rows } = open(
      {
        day: {
          day: new Date(1_790_000_000_000).toISOString().slice(0, 10),
          runs: 2,
          tokens: 0,
          costNanoUsd: 0,
        },
      },
      2,
    )
    for (let time = 0; time < 20; time += 1) await tell()
    expect(rows.open(id)).toEqual([])
    expect(skipped()).toEqual(['20 its day has had 2 firings'])
  })
})

describe('the day’s share of a subscription to every principal’s events', () => {
  it('Y28: is not used up by one principal', async () => {
    const { tell, skipped, rows } = open({ owner: 'plugin:shop' }, 8)
    for (let time = 0; time < 6; time += 1) await tell({ principal: 'bob', isPublic: true })
    await tell({ principal: 'eve', isPublic: true })
    const causes = rows.open(id).map(({ cause }) => cause?.principal)
    expect(causes).toEqual(['bob', 'bob', 'eve'])
    expect(skipped()).toEqual([
      '4 one principal has had its share: 2 runs within a day, 25 that wait',
    ])
    for (let time = 0; time < 5; time += 1) await tell()
    expect(rows.open(id)).toHaveLength(8)
  })
})

describe('the list of heard events', () => {
  it('is forgotten once an hour, not looked through for each event', async () => {
    const { clock, tell, asked } = open()
    const sweeps = () =>
      asked.filter((query) => /DELETE FROM heard|CREATE TABLE .*heard/.test(query))
    for (let time = 0; time < 20; time += 1) await tell()
    expect(sweeps()).toHaveLength(2)
    clock.at += hourMs
    await tell()
    expect(sweeps()).toHaveLength(4)
  })
})
