import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'
import { filled } from '../fixtures/stored/filled.ts'
import before from '../fixtures/stored/sessions.json' with { type: 'json' }

interface Stored {
  readonly session: string
  readonly tables: readonly {
    readonly name: string
    readonly sql: string
    readonly columns: readonly string[]
    readonly rows: readonly (readonly unknown[])[]
  }[]
}

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
// What waited then has not run out, whenever this runs.
beforeEach(() => void vi.setSystemTime(before.finished.shown.tree.createdAtMs + 3_600_000))
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

/** Puts rows that another version wrote into the object of their session, as a deployment finds them. */
async function load(objects: readonly Stored[]): Promise<void> {
  for (const { session, tables } of objects) {
    await runInDurableObject(stubOf(session), (_instance, { storage }) => {
      storage.sql.exec('DROP TABLE IF EXISTS run_index')
      for (const { name, sql, columns, rows } of tables) {
        storage.sql.exec(`DROP TABLE IF EXISTS ${name}`)
        storage.sql.exec(sql)
        const marks = columns.map(() => '?').join(', ')
        for (const row of rows) {
          storage.sql.exec(`INSERT INTO ${name} VALUES (${marks})`, ...row.map(filled))
        }
      }
    })
  }
  await abortAllDurableObjects()
}

const isReviewer = ({ messages }: UpstreamRequest) =>
  String(messages[0]?.content).includes('review') &&
  !String(messages[0]?.content).includes('Available tools')
const reached = (session: string, run: string, state: string): Promise<Answer> =>
  vi.waitFor(
    async () => {
      const view = await callJson(`/api/sessions/${session}/runs/${run}`)
      expect(view.state).toBe(state)
      return view
    },
    { timeout: 60_000, interval: 20 },
  )
const eventsOf = async (session: string) =>
  (await call(`/api/sessions/${session}/events?follow=false`)).text()
const placesOf = async (session: string) =>
  [...(await eventsOf(session)).matchAll(/^id: \S+:(\d+)$/gm)].map(([, place]) => Number(place))
const runAgain = (session: string, task: string, key: string) =>
  callJson(`/api/sessions/${session}/runs`, {
    json: { task, wait: true },
    headers: { 'Idempotency-Key': key },
  })
const indexOf = (session: string) =>
  runInDurableObject(stubOf(session), (_instance, { storage }) =>
    storage.sql.exec('SELECT kind, key, value FROM run_index').toArray(),
  )
const sessionOf = ({ objects }: { readonly objects: readonly Stored[] }) => objects[0]!.session

describe('F32: the database of a session of the version before', () => {
  it('tells what it told then, and finds its runs by id and by key', async () => {
    const { requests } = withModel(() => ({ text: 'anew' }))
    const { finished } = before
    await load(finished.objects)
    const session = sessionOf(finished)
    expect(await callJson(`/api/sessions/${session}`)).toEqual(finished.shown.tree)
    const { messages } = await callJson(`/api/sessions/${session}/transcript`)
    expect(messages).toEqual(finished.shown.transcript.messages)
    const shown = await readSse(new Response(finished.shown.events))
    expect(await readSse(new Response(await eventsOf(session)))).toMatchObject(shown)
    expect((await runAgain(session, 'go', 'finished-1')).id).toBe(finished.run)
    expect((await reached(session, finished.failed, 'failed')).id).toBe(finished.failed)
    expect(requests).toHaveLength(0)
  })

  it('E1: counts what its runs spent into its limits, and what later ones spend on top', async () => {
    withModel(() => ({ text: 'anew' }))
    const { finished } = before
    await load(finished.objects)
    const session = sessionOf(finished)
    expect((await runAgain(session, 'more', 'finished-4')).state).toBe('completed')
    const { usage } = await callJson(`/api/sessions/${session}`)
    expect(usage.tokens).toBe(finished.shown.tree.usage.tokens + 110)
    const spent = (await indexOf(session)).find(({ kind }) => kind === 'spent')
    expect(JSON.parse(String(spent?.value))).toEqual(usage)
  })

  it('I10: goes on with what waited, in parts or not, and gives no place in its log twice', async () => {
    withModel(({ messages }) => ({ text: `after ${String(messages.at(-1)!.role)}` }))
    const { waiting } = before
    await load(waiting.objects)
    const session = sessionOf(waiting)
    for (const [run, id] of [
      [waiting.largeRun, waiting.largeCall],
      [waiting.parked, waiting.call],
    ] as const) {
      await reached(session, run, 'parked')
      const path = `/api/sessions/${session}/runs/${run}`
      let state = 'parked'
      // The plugin is another one than the one that was asked about: that is asked about once more, and no more often.
      for (let asked = 0; state === 'parked' && asked < 2; asked += 1) {
        await callJson(`${path}/decisions`, { json: { call: id, decision: 'approve' } })
        state = await vi.waitFor(
          async () => {
            const view = await callJson(path)
            expect(['parked', 'completed']).toContain(view.state)
            return String(view.state)
          },
          { timeout: 60_000, interval: 20 },
        )
      }
      expect(state).toBe('completed')
    }
    expect((await runAgain(session, 'and then', 'next')).state).toBe('completed')
    await abortAllDurableObjects()
    expect((await runAgain(session, 'and last', 'last')).state).toBe('completed')
    const places = await placesOf(session)
    expect(places).toEqual(places.map((_, index) => index + 1))
    expect((await indexOf(session)).filter(({ kind }) => kind === 'open')).toEqual([])
    const { messages } = await callJson(`/api/sessions/${session}/transcript`)
    expect(JSON.stringify(messages).match(/found two bugs/g)).toHaveLength(1)
  })

  it('F33: goes on with the turn that was cut and with the queue behind it', async () => {
    const { requests } = withModel((request) => ({ text: isReviewer(request) ? 'fine' : 'on' }))
    const { cut } = before
    await load(cut.objects)
    const session = sessionOf(cut)
    const { result } = await reached(session, cut.run, 'completed')
    expect(result.actions).toMatchObject([
      { tool: 'kv__set', ok: true },
      { tool: 'code-reviewer__run', ok: true },
    ])
    await reached(session, cut.queued, 'completed')
    expect((await runAgain(session, 'cut', 'cut-1')).id).toBe(cut.run)
    expect(requests).toHaveLength(3)
  })

  it('F20: finds the child that its call had begun, which runs once', async () => {
    const { requests } = withModel((request) => ({ text: isReviewer(request) ? 'fine' : 'on' }))
    const { tree } = before
    await load(tree.objects)
    const session = sessionOf(tree)
    await reached(session, tree.run, 'completed')
    const { children } = await callJson(`/api/sessions/${session}`)
    expect(children).toMatchObject([{ id: tree.objects[1]!.session, runs: [{}] }])
    expect(requests.filter(isReviewer)).toHaveLength(1)
  })

  it('I10: delivers the outcome that had not arrived', async () => {
    const { undelivered } = before
    await load(undelivered.objects)
    const [session, child] = undelivered.objects.map((one) => one.session)
    await runInDurableObject(stubOf(child!), (_instance, { storage }) =>
      storage.setAlarm(Date.now() + 60_000),
    )
    await runDurableObjectAlarm(stubOf(child!))
    await vi.waitFor(
      async () => {
        const { messages } = await callJson(`/api/sessions/${session}/transcript`)
        expect(JSON.stringify(messages).match(/undelivered/g)).toHaveLength(1)
      },
      { timeout: 60_000, interval: 50 },
    )
  })
})
