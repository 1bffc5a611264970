import { defined } from '#contracts/defined.ts'
import { errorMessage } from '#contracts/errors.ts'
import type { Erasure, ErasureProgress, ErasureStore } from '../../types/operations.ts'
import { deploymentEvent } from '#contracts/event.ts'
import type { Administrator } from '#contracts/keys.ts'
import { type Database, reached } from '#platform/d1/database.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'

const columns = 'id, principal, state, asked_by, asked_at_ms, next_ms, progress'
const selected = `id, principal, state, asked_by AS askedBy, asked_at_ms AS askedAtMs, next_ms AS nextMs, progress`

/** The table of erasures. Events of an erasure never have the person's name, and its row only while it runs. */
export function createErasureStore(database: Database): ErasureStore {
  const read = async (rest: string, ...values: (string | number)[]) => {
    const statement = database.prepare(`SELECT ${selected} FROM erasures ${rest}`).bind(...values)
    return (await reached(() => statement.all<ErasureRow>())).results.map(toErasure)
  }
  const told = (
    { id }: Erasure,
    step: 'asked' | 'done',
    {
      principal,
      trace,
      requestId: request,
    }: Pick<Administrator, 'principal' | 'trace'> & {
      readonly requestId?: string
    },
    atMs: number,
  ) => {
    const about = { owner: id, step, ...defined({ request }) }
    return eventRow(database, deploymentEvent('person_erased', { principal, trace, atMs }, about))
  }
  const changed = ({ id, state, principal, nextMs, progress }: Erasure) => {
    const sql =
      'UPDATE erasures SET (state, principal, next_ms, progress) = (?2, ?3, ?4, ?5) WHERE id = ?1'
    return database
      .prepare(sql)
      .bind(id, state, principal, nextMs ?? null, JSON.stringify(progress))
  }

  return {
    async begin(erasure, by) {
      const { id, principal, state, askedBy, askedAtMs, nextMs, progress } = erasure
      const end = (table: string) =>
        database
          .prepare(
            `UPDATE ${table} SET revoked_at_ms = coalesce(revoked_at_ms, ?2), followed_by = NULL WHERE principal = ?1`,
          )
          .bind(principal, askedAtMs)
      const insert = `INSERT INTO erasures (${columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`
      const values = [
        id,
        principal,
        state,
        askedBy,
        askedAtMs,
        nextMs ?? null,
        JSON.stringify(progress),
      ]
      const statements = [
        database.prepare(insert).bind(...values),
        end('keys'),
        end('oauth_grants'),
        told(erasure, 'asked', by, askedAtMs),
      ]
      try {
        await reached(() => database.batch(statements))
        return erasure
      } catch (error) {
        const [runs] = /erasures\.principal/.test(errorMessage(error))
          ? await read(`WHERE principal = ?1 AND state = 'running'`, principal)
          : []
        if (runs) return runs
        throw error
      }
    },
    find: async (id) => (await read('WHERE id = ?1', id))[0],
    list: (limit) => read('ORDER BY asked_at_ms DESC, id LIMIT ?1', limit),
    running: (limit) => read(`WHERE state = 'running' ORDER BY next_ms, id LIMIT ?1`, limit),
    save: async (erasure) => void (await reached(() => changed(erasure).run())),
    async finish(erasure, nowMs) {
      const { nextMs: _next, ...rest } = erasure
      const nameless: Erasure = { ...rest, state: 'done', principal: erasure.id }
      const by = { principal: '', trace: '' }
      const statements = [changed(nameless), told(nameless, 'done', by, nowMs)]
      await reached(() => database.batch(statements))
    },
  }
}

interface ErasureRow extends Omit<Erasure, 'nextMs' | 'progress'> {
  readonly nextMs: number | null
  readonly progress: string
}

const toErasure = ({ nextMs, progress, ...row }: ErasureRow): Erasure => ({
  ...row,
  ...(nextMs !== null && { nextMs }),
  progress: JSON.parse(progress) as ErasureProgress, // written by this module
})
