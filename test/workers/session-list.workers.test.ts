import { afterEach, expect, it, vi } from 'vitest'
import { env } from 'cloudflare:workers'
import worker from '../../src/index.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { installUpstream } from '../fakes/upstream.ts'

const dayMs = 86_400_000
let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

const chat = async (headers: Record<string, string> = {}): Promise<string> => {
  const messages = [{ role: 'user', content: 'Hi' }]
  const json = { model: 'orchestrator', messages }
  const response = await call('/v1/chat/completions', { json, headers })
  await response.text()
  return response.headers.get('x-isola-session')!
}
const list = async (query = '', headers: Record<string, string> = {}): Promise<Answer[]> =>
  (await callJson(`/api/sessions${query}`, { headers })).sessions
/** The list follows what happened by a moment. */
const listed = async (session: string, holds: (row: Answer) => boolean, query = '?principal=*') =>
  vi.waitFor(
    async () => {
      const row = (await list(query)).find(({ id }) => id === session)
      if (!row || !holds(row))
        throw new Error(`${session} is not listed so: ${JSON.stringify(row)}`)
      return row
    },
    { timeout: 60_000, interval: 200 },
  )

it('lists what was made and what was talked in, as it stands, until it is deleted', async () => {
  upstream = installUpstream(() => ({ text: 'Hi' }))
  const { id: made } = await callJson('/api/sessions', { json: { agent: 'code-reviewer' } })
  expect(await listed(made, () => true)).toMatchObject({
    agent: 'code-reviewer',
    principal: 'operator',
    runs: 0,
    state: null,
  })
  const talked = await chat({ 'x-isola-session': 'mine' })
  await listed(talked, ({ runs, state }) => runs === 1 && state === 'completed')
  await chat({ 'x-isola-session': 'mine' })
  const row = await listed(talked, ({ runs }) => runs === 2)
  expect(row.usedAtMs).toBeGreaterThanOrEqual(row.createdAtMs)
  expect((await list()).map(({ id }) => id).slice(0, 2)).toEqual([talked, made])

  await call(`/api/sessions/${talked}`, { method: 'DELETE' })
  expect((await list('?principal=*')).map(({ id }) => id)).not.toContain(talked)
  // The same name again is another session: it is listed anew.
  expect(await chat({ 'x-isola-session': 'mine' })).toBe(talked)
  await listed(talked, ({ runs }) => runs === 1)
})

it('leaves out sub-agents, and calls without a session name unless they are asked for', async () => {
  const review = { name: 'code-reviewer__run', input: { task: 'Look at this.' } }
  upstream = installUpstream((_request, index) =>
    index === 0 ? { calls: [review] } : { text: 'Hi' },
  )
  const session = await chat()
  const row = await listed(session, () => true, '?stateless=true')
  expect(row.isStateless).toBe(true)
  expect((await list()).map(({ id }) => id)).not.toContain(session)
  const { children } = await callJson(`/api/sessions/${session}`)
  expect(children).toHaveLength(1)
  const child = () =>
    env.DB.prepare('SELECT kind FROM sessions WHERE id = ?').bind(children[0].id).first('kind')
  await vi.waitFor(async () => expect(await child()).toBe('child'), 15_000)
  const all = await list('?principal=*&stateless=true')
  expect(all.map(({ id }) => id)).not.toContain(children[0].id)

  await call(`/api/sessions/${session}`, { method: 'DELETE' })
  expect(await child()).toBeNull()
})

it('T2: shows each principal their own, and the operator those of others', async () => {
  upstream = installUpstream(() => ({ text: 'Hi' }))
  const { key } = await callJson('/api/operator/keys', { json: { principal: 'ann', role: 'user' } })
  const ann = { authorization: `Bearer ${key}` }
  const { id: own } = await callJson('/api/sessions', { json: {} })
  const { id: hers } = await callJson('/api/sessions', { json: {}, headers: ann })
  await listed(own, () => true)
  await listed(hers, ({ principal }) => principal === 'ann')
  expect((await list('', ann)).map(({ id }) => id)).toEqual([hers])
  expect((await list()).map(({ id }) => id)).not.toContain(hers)
  expect((await list('?principal=ann')).map(({ id }) => id)).toEqual([hers])
  expect((await call('/api/sessions?principal=operator', { headers: ann })).status).toBe(403)
})

it('deletes the record that is older than it is kept, once a day', async () => {
  upstream = installUpstream(() => ({ text: 'Hi' }))
  const session = await chat({ 'x-isola-session': 'old' })
  await listed(session, ({ state }) => state === 'completed')
  const events = async () =>
    (await callJson(`/api/operator/audit?session=${session}`)).records.length
  const before = await events()
  expect(before).toBeGreaterThan(2)
  const daily = async () => {
    await worker.scheduled()
  }
  await daily()
  expect(await events()).toBe(before)
  vi.setSystemTime(Date.now() + 366 * dayMs)
  await chat({ 'x-isola-session': 'new' })
  await vi.waitFor(async () => {
    const { records } = await callJson('/api/operator/audit?limit=500')
    expect(records.at(-1).session).not.toBe(session)
  })
  await daily()
  expect(await events()).toBe(0)
  expect(await callJson('/api/operator/health')).toMatchObject({ incidents: { counts: {} } })
})

it('C5: finds a run by its id alone, that of a sub-agent too', async () => {
  const review = { name: 'code-reviewer__run', input: { task: 'Look at this.' } }
  upstream = installUpstream((_request, index) =>
    index === 0 ? { calls: [review] } : { text: 'Hi' },
  )
  const session = await chat({ 'x-isola-session': 'looked-for' })
  await listed(session, ({ state }) => state === 'completed')
  const tree = await callJson(`/api/sessions/${session}`)
  const [run] = tree.runs
  const [child] = tree.children
  expect(await callJson(`/api/runs/${run.id}`)).toMatchObject({ id: run.id, session })
  const below = await vi.waitFor(() => callJson(`/api/runs/${child.runs[0].id}`), {
    timeout: 60_000,
    interval: 200,
  })
  expect(below).toMatchObject({ id: child.runs[0].id, session: child.id })
  const { key } = await callJson('/api/operator/keys', {
    json: { principal: 'curious', role: 'user' },
  })
  for (const id of [run.id, child.runs[0].id, `run_${'0'.repeat(22)}`]) {
    const answer = await call(`/api/runs/${id}`, { headers: { authorization: `Bearer ${key}` } })
    expect(answer.status).toBe(404)
  }
})
