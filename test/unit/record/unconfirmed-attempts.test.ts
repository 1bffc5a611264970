import { describe, expect, it } from 'vitest'
import type { DeploymentEvent } from '#contracts/event.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { createDeploymentLog } from '../../../src/platform/d1/deployment-log.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { storedEvent } from '../../fakes/events.ts'
import { createFakeApp, testRun, testSession } from '../../fakes/http-deps.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

const path = `/api/operator/unconfirmed/${testSession}.${testRun}.3`
const settled = (attempt: string) =>
  ({
    type: 'attempt_confirmed',
    principal: 'operator',
    trace: 't',
    atMs: 5,
    data: { attempt },
  }) as unknown as DeploymentEvent

describe('an attempt that is settled', () => {
  it('a request that was cut before its event is repeated: the event is written then', async () => {
    const { database, sqlite } = createSqliteDatabase()
    const log = createDeploymentLog(database)
    let isCut = true
    const deploymentLog = {
      async append(...given: Parameters<typeof log.append>) {
        if (isCut) throw new Error('The process ended.')
        await log.append(...given)
      },
    }
    const { send } = createFakeApp({ deps: { deploymentLog } })
    const json = { outcome: 'released' }
    expect((await send(path, { json })).status).toBe(500)
    isCut = false
    expect((await send(path, { json })).status).toBe(200)
    expect((await send(path, { json })).status).toBe(200)
    const rows = sqlite.prepare(`SELECT data->>'attempt' AS id FROM audit`).all()
    expect(rows.map(({ id }) => id)).toEqual([`${testSession}.${testRun}.3`])
  })

  it('another attempt has an event of its own', async () => {
    const { database, sqlite } = createSqliteDatabase()
    const { append } = createDeploymentLog(database)
    for (const id of ['a', 'a', 'b']) await append(settled(id), 'attempt')
    expect(sqlite.prepare('SELECT seq FROM audit').all()).toHaveLength(2)
  })

  it.each([
    [0.0000316, 31_600],
    [0.002, 2_000_000],
    [0.000000001, 1],
    [1.1, 1_100_000_000],
  ])('$%d is exactly %d billionths', async (costUsd, costNanoUsd) => {
    const app = createFakeApp()
    await app.send(path, { json: { outcome: 'spent', costUsd } })
    expect(JSON.stringify(app.calls)).toContain(`"costNanoUsd":${costNanoUsd}`)
  })
})

describe('the list of unconfirmed attempts', () => {
  it('is filtered in the record and goes on page by page', async () => {
    const { database } = createSqliteDatabase()
    const run = testRun
    const events = [0, 7, 0, 8, 9, 0].map((bookedTokens, at) =>
      storedEvent({
        type: 'model_failed',
        seq: at + 1,
        atMs: 1_790_000_000_000 + at,
        run,
        agent: 'orchestrator',
        trace: 't',
        data: { bookedTokens },
      }),
    )
    const owner = { session: testSession, principal: 'ann', sinceMs: 1 }
    await createAuditSink(database).append(owner, batchOf(events))
    await createDeploymentLog(database).append(settled(`${testSession}.${run}.4`))
    const { query } = createAuditReader(database)
    const asked = { type: 'model_failed', isUnconfirmed: true, order: 'desc', limit: 1 } as const
    const first = await query(asked)
    expect(first.records.map(({ seq }) => seq)).toEqual([5])
    const second = await query({ ...asked, after: first.next! })
    expect(second.records.map(({ seq }) => seq)).toEqual([2])
    const last = await query({ ...asked, after: second.next! })
    expect(last.records).toEqual([])
  })
})
