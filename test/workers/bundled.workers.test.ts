import { env } from 'cloudflare:workers'
import { afterEach, expect, it } from 'vitest'
import { callJson, type Answer } from '../fakes/client.ts'
import { callsTool, changePlugin } from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

/** One run of a new session in which the model calls this tool once. */
async function runWith(tool: string, input: object, more: object = {}): Promise<Answer> {
  upstream = installUpstream(callsTool(tool, input))
  const { id } = await callJson('/api/sessions', { json: {} })
  const json = { task: 'go', wait: true, ...more }
  const view = await callJson(`/api/sessions/${id}/runs`, { json })
  return view.result ?? view
}

const code = `
  await tools.call('kv__set', { key: 'a', value: 20 })
  const { value } = await tools.call('kv__get', { key: 'a' })
  console.log('read', value)
  return value + 1`

it("P32: code that a model wrote calls tools through every gate, and what it cost is the run's", async () => {
  expect((await runWith('code__run', { code })).result).toContain('tool_not_found')
  await changePlugin('code', 'enable')
  const { result, usage, state } = await runWith('code__run', { code })
  expect([state, JSON.parse(result)]).toEqual(['completed', { result: 21, logs: ['read 20'] }])
  expect(usage.costNanoUsd).toBe(2_000_000)
  expect(usage.toolCalls).toBe(3)
})

it('P32, C5: a run that has no money for an isolate gets none', async () => {
  await changePlugin('code', 'enable')
  const { result, usage } = await runWith('code__run', { code }, { limits: { maxCostUsd: 0.001 } })
  expect(usage.costNanoUsd).toBe(0)
  expect(result).not.toContain('21')
})

it("I20: sql reads the operator's database, and asks a person before it writes", async () => {
  const { SQL: shop } = env as unknown as { readonly SQL: D1Database }
  await shop.prepare('CREATE TABLE IF NOT EXISTS orders (customer TEXT)').run()
  await shop.prepare("INSERT INTO orders VALUES ('Ada')").run()
  await changePlugin('sql', 'enable')
  const read = await runWith('sql__query', {
    sql: 'SELECT count(*) AS n FROM orders WHERE customer = ?',
    parameters: ['Ada'],
  })
  expect(JSON.parse(read.result)).toEqual({ rows: [{ n: 1 }] })
  const write = await runWith('sql__execute', { sql: 'DELETE FROM orders' })
  expect(write.pauses).toMatchObject([{ kind: 'approval', tool: 'sql__execute' }])
  expect(await shop.prepare('SELECT count(*) AS n FROM orders').first('n')).toBe(1)
})

it('Y10: the scheduled work of price-monitor runs by hand', async () => {
  await changePlugin('price-monitor', 'enable')
  expect((await runWith('price-monitor__execute', {})).result).toBe('{}')
})
