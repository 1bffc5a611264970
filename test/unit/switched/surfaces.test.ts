import { expect, it } from 'vitest'
import { composeRuntime } from '../../../src/composition.ts'
import { createEgress } from '../../../src/plugins/egress.ts'
import { createFakeClock, createFakeSources } from '../../fakes/kernel.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

it('F28: a reader of a `/v1` stream that left cancels its run after ten seconds, not before', async () => {
  const abandoned: unknown[] = []
  const stub = { abandon: async (...args: unknown[]) => void abandoned.push(args) }
  const clock = createFakeClock()
  const { database: DB } = createSqliteDatabase()
  const bindings = { ISOLA_ENV: 'development', DB, SESSION: { getByName: () => stub }, KV: {} }
  const { http } = composeRuntime(bindings as unknown as Env, createFakeSources(clock))
  const gone = { session: 'ses_1', run: 'run_1', principal: 'operator', reader: 'req_1' }
  const leaving = http.onClientGone?.(gone)
  await clock.advance(9_999)
  expect(abandoned).toEqual([])
  await clock.advance(1)
  await leaving
  expect(abandoned).toEqual([['operator', 'run_1', 'req_1']])
})

it('T9: an answer over 2 MiB is cut off for a plugin', async () => {
  const fetch = createEgress({
    grants: [{ host: 'example.com', methods: ['GET'] }],
    tier: 'builtin',
    isDevelopment: false,
    fetch: async () => new Response(new Uint8Array(2_097_153)),
    emit: () => {},
    idempotencyKey: 'k',
    signal: new AbortController().signal,
  })
  const answer = await fetch('https://example.com/')
  await expect(answer.text()).rejects.toThrow('2 MiB')
})
