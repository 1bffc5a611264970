import { expect, it } from 'vitest'
import { composeRuntime } from '../../../src/compose/composition.ts'
import { openCapabilities } from '../../../src/features/plugins/capabilities/capabilities.ts'
import { createCallSecrets } from '../../../src/features/plugins/secrets/call-secrets.ts'
import { createEgress } from '../../../src/features/plugins/capabilities/egress.ts'
import { createFakeClock, createFakeSources } from '../../fakes/kernel.ts'
import { bundle, createCapabilityDeps, loadOne } from '../../fakes/plugins.ts'
import { createFakeGateway } from '../../fakes/session-gateway.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'
import { readerOf } from '../../fakes/secrets.ts'
import { createToolContext } from '../../fakes/tool-context.ts'
import { sendOver } from '../../fakes/outbound.ts'

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
    openNow: async () => () => true,
    mayFollow: async () => true,
    send: sendOver(async () => new Response(new Uint8Array(2_097_153))),
    emit: () => {},
    secrets: createCallSecrets(
      [],
      { call: 'c', emit: () => {}, plugin: 'demo' },
      { readSecrets: readerOf({}), ids: { next: () => 'ref_1' }, clock: { nowMs: () => 0 } },
    ),
    idempotencyKey: 'k',
    traceparent: '',
    signal: new AbortController().signal,
  })
  const answer = await fetch('https://example.com/')
  await expect(answer.text()).rejects.toThrow('2 MiB')
})

it('T8: a function of a call that a plugin kept does nothing once the call is over', async () => {
  const asked: unknown[] = []
  const sessions = createFakeGateway({ storage: async (request) => (asked.push(request), {}) })
  const plugin = loadOne(bundle({ id: 'demo', grants: { storage: '1mb' } }))
  const deps = createCapabilityDeps({ sessions })
  const { capabilities, close } = openCapabilities(plugin, createToolContext(), deps)
  close()
  await expect(capabilities.storage.set('a', 1)).rejects.toThrow('over')
  expect(asked).toEqual([])
})

it('T8: an answer that comes after the call does not reach the plugin', async () => {
  const gate = Promise.withResolvers<void>()
  const sessions = createFakeGateway({ storage: async () => (await gate.promise, {}) })
  const plugin = loadOne(bundle({ id: 'demo', grants: { storage: '1mb' } }))
  const deps = createCapabilityDeps({ sessions })
  const { capabilities, close } = openCapabilities(plugin, createToolContext(), deps)
  const late = capabilities.storage.set('a', 1)
  close()
  gate.resolve()
  await expect(late).rejects.toThrow('over')
})
