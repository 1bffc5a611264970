import { runInDurableObject } from 'cloudflare:test'
import { describe, expect, it } from 'vitest'
import { systemSources } from '../../src/compose/sources.ts'
import { expirePauses } from '../../src/runtime/session/waiting/outside.ts'
import { createDayPieces, noPieces } from '../../src/runtime/session/runs/day-pieces.ts'
import { leaseOf } from '../../src/runtime/session/runs/limits.ts'
import { createSessionStore, type SessionStore } from '../../src/runtime/session/storage/store.ts'
import { sessions, stubOf } from '../fakes/objects.ts'
import { limitsOf, runAt, turnOf } from '../fakes/stored-runs.ts'

/** What each of these reads and writes in a session of so many runs, in an object that has just been loaded. */
async function countsAt(runs: number) {
  const session = await sessions.idFor('named', [`flat ${runs}`])
  return runInDurableObject(stubOf(session), async (_instance, { storage }) => {
    const seed = createSessionStore(storage)
    const about = { id: session, agent: 'tester', principal: 'operator', createdAtMs: 1 }
    storage.transactionSync(() => {
      seed.writeSession({ ...about, limits: { maxTokens: 10_000_000 } })
      for (let order = 1; order <= runs; order += 1) {
        seed.addRun(runAt(order))
        if (order === 3) seed.keepOpen(order)
        else seed.writeTurn(order, turnOf(order))
      }
      seed.writeSpent({ ...turnOf(1).usage, tokens: 10 * runs })
    })
    const count = { read: 0, written: 0, statements: 0 }
    const exec = (query: string, ...values: SqlStorageValue[]) => {
      const cursor = storage.sql.exec(query, ...values)
      const rows = cursor.toArray()
      count.read += cursor.rowsRead
      count.written += cursor.rowsWritten
      count.statements += 1
      return { toArray: () => rows, rowsWritten: cursor.rowsWritten }
    }
    const counted = {
      sql: { exec },
      transactionSync: (work: () => void) => storage.transactionSync(work),
    } as unknown as DurableObjectStorage
    const asked = { maxTokens: 0 }
    const countOf = async (work: (store: SessionStore) => unknown) => {
      const store = createSessionStore(counted)
      Object.assign(count, { read: 0, written: 0, statements: 0 })
      await work(store)
      return { ...count }
    }
    const next = runAt(runs + 1)
    return {
      wake: await countOf((store) => [store.session(), store.unfinishedRuns(), store.lastSeq()]),
      tick: await countOf((store) =>
        expirePauses({ store } as never, { nowMs: 2, pauseMs: 86_400_000 }),
      ),
      lease: await countOf(async (store) => {
        const principals = { reserve: async (of: { asked: object }) => of.asked }
        const runtime = { ...systemSources, principals } as never
        const lease = await leaseOf(next, limitsOf(), {
          runtime,
          store,
          meter: { count: () => {} },
          pieces: createDayPieces({ pieces: () => noPieces, setPieces: () => {} }),
          identity: { id: session },
        })
        asked.maxTokens = lease.maxTokens
      }),
      find: await countOf((store) => store.findRun(runAt(runs - 1).id)),
      unknown: await countOf((store) => store.findRun('run_0123456789ABCDEFGHIJKL')),
      last: await countOf((store) => store.final(runs)),
      events: await countOf((store) => store.rowsAt(store.placesAfter(store.lastSeq() - 2))),
      write: await countOf((store) => {
        store.addRun(next)
        store.writeTurn(next.order, turnOf(next.order))
      }),
      leased: asked.maxTokens,
    }
  })
}

describe('a session of many runs', () => {
  it('E9, E1: reads and writes as many rows at a wake, a tick and a run as one of few', async () => {
    const [few, many] = [await countsAt(40), await countsAt(2_000)]
    const left = 10_000_000 - 10 * 2_000
    expect(many).toEqual({ ...few, leased: left })
    expect(many.write.written).toBe(2)
  })
})
