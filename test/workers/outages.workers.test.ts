import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sessions, stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})
const newSession = async () => (await callJson('/api/sessions', { json: {} })).id as string
const isAnswered = (request: UpstreamRequest) => request.messages.at(-1)!.role === 'tool'
const setFact = { calls: [{ name: 'kv__set', input: { key: 'a', value: 1 } }] }

async function breakWrites(session: string, matches = /^\s*(INSERT|UPDATE|DELETE|CREATE|DROP)/i) {
  const state = { isFull: true, refused: 0 }
  await runInDurableObject(stubOf(session), (_i, { storage }) => {
    const { sql } = storage
    const exec = sql.exec.bind(sql)
    Object.assign(sql, {
      exec: (query: string, ...values: unknown[]) => {
        if (state.isFull && matches.test(query)) {
          state.refused += 1
          throw new Error('database or disk is full: SQLITE_FULL')
        }
        return exec(query, ...(values as []))
      },
    })
  })
  return state
}

describe('x', () => {
  it('submission', async () => {
    withModel(() => ({ text: 'hi' }))
    const session = await newSession()
    const disk = await breakWrites(session)
    const r = await call(`/api/sessions/${session}/runs`, {
      json: { task: 'a' },
      headers: { 'Idempotency-Key': 'k' },
    })
    console.log(r.status, r.headers.get('retry-after'), await r.text(), disk)
    const r2 = await call(`/api/sessions/${session}/runs`, {
      json: { task: 'a', wait: true },
      headers: { 'Idempotency-Key': 'k' },
    })
    console.log(r2.status, r2.headers.get('retry-after'), await r2.text(), disk)
    const r3 = await call(`/v1/chat/completions`, {
      json: { model: 'orchestrator', messages: [{ role: 'user', content: 'x' }], stream: true },
      headers: { 'x-isola-session': 'k' },
    })
    console.log(r3.status, (await r3.text()).slice(0, 300), disk)
    disk.isFull = false
    console.log(JSON.stringify(await callJson(`/api/sessions/${session}`)))
    console.log(
      JSON.stringify(
        await callJson(`/api/sessions/${session}/runs`, {
          json: { task: 'a', wait: true },
          headers: { 'Idempotency-Key': 'k' },
        }),
      ).slice(0, 300),
    )
    console.log(JSON.stringify((await callJson('/api/operator/health')).incidents))
  })
  it('mid', async () => {
    let disk: Answer
    const { requests } = withModel((request, index) => {
      if (index === 0) return setFact
      if (index === 1) disk.isFull = true
      return { text: 'done' }
    })
    const session = await newSession()
    disk = await breakWrites(session)
    disk.isFull = false
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'a' } })
    await vi.waitFor(() => expect(disk.refused).toBeGreaterThan(1))
    await new Promise((r) => setTimeout(r, 300))
    console.log(JSON.stringify(await callJson(`/api/sessions/${session}/runs/${run}`)))
    console.log(JSON.stringify((await callJson('/api/operator/health')).incidents))
    disk.isFull = false
    vi.setSystemTime(Date.now() + 20_000)
    console.log(await runDurableObjectAlarm(stubOf(session)))
    await new Promise((r) => setTimeout(r, 1500))
    console.log(
      JSON.stringify(await callJson(`/api/sessions/${session}/runs/${run}`)).slice(0, 300),
      requests.length,
    )
    console.log(JSON.stringify((await callJson('/api/operator/health')).incidents))
    vi.setSystemTime(Date.now() + 20_000)
    console.log(await runDurableObjectAlarm(stubOf(session)))
    console.log(JSON.stringify((await callJson('/api/operator/health')).incidents))
  })
})
