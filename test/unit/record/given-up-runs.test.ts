import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../src/contracts/event.ts'
import { createAuditSink, createGivenUpRuns } from '../../../src/features/record/store/audit-log.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import type { Database } from '../../../src/platform/d1/database.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'
import { storedEvent } from '../../fakes/events.ts'

const message = 'The run was interrupted 5 times in the same turn.'
const owner = { session: 'ses_a', principal: 'operator', sinceMs: 1 }

function finished(seq: number, code?: string): SessionEvent {
  return storedEvent({
    seq,
    run: `run_${seq}`,
    agent: 'orchestrator',
    trace: 'aa',
    atMs: 1_000 + seq,
    type: 'run_finished',
    data: { state: code ? 'failed' : 'completed', ...(code && { code, message }) },
  })
}
const givenUp = (seq: number) => finished(seq, 'run_given_up')

function open() {
  const { database, sqlite } = createSqliteDatabase()
  return { database, sqlite, sink: createAuditSink(database), list: createGivenUpRuns(database) }
}
const openRuns = { state: 'open', limit: 10 } as const

describe('the list of given-up runs', () => {
  it('N12: has a run as soon as the record says that it was given up, newest first', async () => {
    const { sink, list } = open()
    await sink.append(
      owner,
      batchOf([finished(1), givenUp(2), finished(3, 'model_auth'), givenUp(4)]),
    )
    const rows = await list.list(openRuns)
    expect(rows.map(({ run }) => run)).toEqual(['run_4', 'run_2'])
    expect(rows[1]).toEqual({
      run: 'run_2',
      session: 'ses_a',
      principal: 'operator',
      agent: 'orchestrator',
      trace: 'aa',
      code: 'run_given_up',
      message,
      atMs: 1_002,
      state: 'open',
    })
    expect(await list.find('run_2')).toEqual(rows[1])
    expect(await list.find('run_1')).toBeUndefined()
  })

  it('I10: has it once though the batch comes twice, and keeps what was decided', async () => {
    const { sink, list } = open()
    await sink.append(owner, batchOf([givenUp(1)]))
    await list.resolve('run_1', 'retried')
    await sink.append(owner, batchOf([givenUp(1), givenUp(2)]))
    expect((await list.list(openRuns)).map(({ run }) => run)).toEqual(['run_2'])
    expect(await list.find('run_1')).toMatchObject({ state: 'retried' })
  })

  it('is decided once: a second decision changes nothing', async () => {
    const { sink, list } = open()
    await sink.append(owner, batchOf([givenUp(1)]))
    await list.resolve('run_1', 'dropped')
    await list.resolve('run_1', 'retried')
    await list.resolve('run_9', 'dropped')
    expect(await list.find('run_1')).toMatchObject({ state: 'dropped' })
  })

  it('opens anew for a run of the same id in a session of the same name that came later', async () => {
    const { sink, list } = open()
    await sink.append(owner, batchOf([givenUp(1)]))
    await list.resolve('run_1', 'dropped')
    await sink.append({ ...owner, sinceMs: 2 }, batchOf([givenUp(1)]))
    expect(await list.find('run_1')).toMatchObject({ state: 'open' })
  })

  it('lands with its batch or not at all', async () => {
    const { database, sqlite, list } = open()
    sqlite.exec('ALTER TABLE given_up_runs RENAME TO elsewhere')
    await expect(createAuditSink(database).append(owner, batchOf([givenUp(1)]))).rejects.toThrow()
    expect(await createAuditReader(database).query({ limit: 10 })).toEqual({ records: [], last: 0 })
    sqlite.exec('ALTER TABLE elsewhere RENAME TO given_up_runs')
    expect(await list.list(openRuns)).toEqual([])
  })

  it('tells a database that is away from a statement that is wrong', async () => {
    const failing = (text: string) =>
      createGivenUpRuns({
        prepare: () => {
          throw new Error(text)
        },
      } as unknown as Database).list(openRuns)
    await expect(failing('D1_ERROR: Network connection lost.')).rejects.toMatchObject({
      code: 'request_unavailable',
      retryAfterMs: 5_000,
    })
    const bug = 'D1_ERROR: no such column: stat at offset 7: SQLITE_ERROR'
    await expect(failing(bug)).rejects.toThrow(bug)
  })
})
