import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Access } from '../../src/platform/routes/route.ts'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { access, routesOf } from '../fakes/routes.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

const absentSession = `ses_${'0'.repeat(22)}`
const setKey = { name: 'kv__set', input: { key: 'launch', value: 'Friday' } }
const patience = { timeout: 60_000, interval: 50 }

let upstream: ReturnType<typeof installUpstream>
const serve = (script: UpstreamScript) => {
  upstream?.restore()
  upstream = installUpstream(script)
}
const callsOnce: UpstreamScript = ({ messages }) =>
  messages.at(-1)?.role === 'tool' ? { text: 'done' } : { calls: [setKey] }
beforeEach(() => serve(callsOnce))
afterEach(() => upstream.restore())

let count = 0
/** A new principal, and what speaks for it. */
async function somebody(role: string) {
  const principal = `${role}-${(count += 1)}`
  const { key } = await callJson('/api/operator/keys', { json: { principal, role } })
  const ask = (path: string, init: Parameters<typeof call>[1] = {}) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${key}`)
    return call(path, { ...init, headers })
  }
  const askJson = async (path: string, init?: Parameters<typeof call>[1]): Promise<Answer> => {
    const response = await ask(path, init)
    const text = await response.text()
    if (!response.ok) throw new Error(`${response.status} ${text}`)
    return JSON.parse(text)
  }
  return { principal, ask, askJson }
}
type Somebody = Awaited<ReturnType<typeof somebody>>

/** A principal's session in which a call waits for an approval. */
async function parkedRun({ askJson }: Somebody, more: object = {}) {
  const { id: session } = await askJson('/api/sessions', { json: {} })
  const json = { task: 'Set it.', requireApproval: ['kv__*'], wait: true, ...more }
  const { id: run, pauses } = await askJson(`/api/sessions/${session}/runs`, { json })
  return { session, run, pause: pauses[0] }
}
const acts = async (session: string): Promise<Answer[]> => {
  const { records } = await callJson('/api/operator/audit?session=deployment&limit=500')
  return records.filter(({ data }: Answer) => data.session === session)
}
const eventsOf = async (session: string, type: string): Promise<Answer[]> => {
  const { records } = await callJson(`/api/operator/audit?session=${session}&limit=500`)
  return records.filter((record: Answer) => record.type === type)
}

describe("an operator, of another principal's session,", () => {
  it('sees it, what was said in it, its events and runs, as its owner does', async () => {
    const [ann, ops] = [await somebody('user'), await somebody('operator')]
    const { session, run } = await parkedRun(ann)
    for (const path of ['', '/transcript', `/runs/${run}`, '/events?follow=false']) {
      const read = async (who: Somebody) =>
        (await who.ask(`/api/sessions/${session}${path}`)).text()
      expect(await read(ops), path).toBe(await read(ann))
    }
    await vi.waitFor(async () => {
      const { sessions } = await ops.askJson(`/api/sessions?principal=${ann.principal}`)
      expect(sessions).toMatchObject([{ id: session, principal: ann.principal }])
    }, patience)
    // To look is no act.
    expect(await acts(session)).toEqual([])
  })

  it('approves a call, on the record with who did it, whose session it is and what was approved', async () => {
    const [ann, ops] = [await somebody('user'), await somebody('operator')]
    const { session, run, pause } = await parkedRun(ann)
    const decide = (json: object) =>
      ops.ask(`/api/sessions/${session}/runs/${run}/decisions`, { json })
    const refused = await decide({ call: pause.call, decision: 'approve', argsHash: 'other' })
    expect([refused.status, await acts(session)]).toEqual([409, []])
    const approve = { call: pause.call, decision: 'approve' }
    for (const _ of [1, 2]) expect((await decide(approve)).status).toBe(200)
    await vi.waitFor(async () => {
      const { state } = await ann.askJson(`/api/sessions/${session}/runs/${run}`)
      expect(state).toBe('completed')
    }, patience)
    expect(await acts(session)).toMatchObject([
      {
        type: 'call_decided',
        principal: ops.principal,
        data: {
          owner: ann.principal,
          run,
          call: pause.call,
          tool: 'kv__set',
          argsHash: pause.argsHash,
          decision: 'approve',
        },
      },
    ])
    await vi.waitFor(async () => {
      expect(await eventsOf(session, 'pause_answered')).toMatchObject([
        { principal: ann.principal, data: { answer: 'approved', by: ops.principal } },
      ])
    }, patience)
  })

  it('answers a question, and its answer is not on the record', async () => {
    serve(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { text: 'done' }
        : { calls: [{ name: 'isola__ask', input: { question: 'Which one?' } }] },
    )
    const [ann, ops] = [await somebody('user'), await somebody('operator')]
    const { session, run, pause } = await parkedRun(ann, { requireApproval: [], mayAsk: true })
    expect(pause.kind).toBe('question')
    const json = { call: pause.call, decision: 'result', output: 'the secret one' }
    await ops.askJson(`/api/sessions/${session}/runs/${run}/decisions`, { json })
    const [act] = await acts(session)
    expect(act).toMatchObject({
      principal: ops.principal,
      data: { decision: 'result', kind: 'question', owner: ann.principal },
    })
    expect(JSON.stringify(act)).not.toContain('secret one')
  })

  it('cancels a run, once on the record, and its owner reads who did it', async () => {
    const [ann, ops] = [await somebody('user'), await somebody('operator')]
    const { session, run } = await parkedRun(ann)
    for (const reason of ['too dear', 'again']) {
      const view = await ops.askJson(`/api/sessions/${session}/runs/${run}/cancel`, {
        json: { reason },
      })
      expect(view.state).toBe('cancelled')
    }
    const { result } = await ann.askJson(`/api/sessions/${session}/runs/${run}`)
    expect(result.error.message).toBe(`Cancelled by the operator ${ops.principal}: too dear`)
    expect(await acts(session)).toMatchObject([
      {
        type: 'run_cancelled',
        principal: ops.principal,
        data: { owner: ann.principal, run },
      },
    ])
  })

  it('deletes it, with what runs in it, on the record', async () => {
    const [ann, ops] = [await somebody('user'), await somebody('operator')]
    const { session } = await parkedRun(ann)
    expect(await ops.askJson(`/api/sessions/${session}`, { method: 'DELETE' })).toEqual({
      id: session,
      deleted: true,
    })
    expect((await ann.ask(`/api/sessions/${session}`)).status).toBe(404)
    expect((await ops.ask(`/api/sessions/${session}`)).status).toBe(404)
    const about = { owner: ann.principal }
    expect(await acts(session)).toMatchObject(
      ['asked', 'done'].map((step) => ({
        type: 'session_deleted',
        principal: ops.principal,
        data: { ...about, step },
      })),
    )
  })

  it('says nothing in it: to talk there is for its owner alone', async () => {
    const [ann, ops] = [await somebody('user'), await somebody('operator')]
    const { session, run } = await parkedRun(ann)
    for (const [path, json] of [
      ['runs', { task: 'x' }],
      [`runs/${run}/messages`, { message: 'x' }],
    ] as const)
      expect((await ops.ask(`/api/sessions/${session}/${path}`, { json })).status).toBe(404)
  })

  it('leaves no record of what it does in its own', async () => {
    const ops = await somebody('operator')
    const { session, run, pause } = await parkedRun(ops)
    const json = { call: pause.call, decision: 'deny' }
    await ops.askJson(`/api/sessions/${session}/runs/${run}/decisions`, { json })
    await ops.askJson(`/api/sessions/${session}`, { method: 'DELETE' })
    expect(await acts(session)).toEqual([])
  })
})

describe("an auditor, of another principal's session,", () => {
  const isFor = (allowed: Access, role: string) =>
    allowed === 'anyone' || allowed.some((one) => one === role)

  it('reads everything and does nothing', async () => {
    const [ann, auditor] = [await somebody('user'), await somebody('auditor')]
    const { session, run, pause } = await parkedRun(ann)
    const bodies: Readonly<Record<string, object>> = {
      runs: { task: 'x' },
      messages: { message: 'x' },
      decisions: { call: pause.call, decision: 'approve' },
      cancel: {},
    }
    const routes = routesOf(access).filter(({ path }) => path.startsWith('/api/sessions'))
    for (const { method, path, allowed } of routes) {
      const to = path.replace(':id', session).replace(':run', run)
      const json = bodies[path.split('/').at(-1)!] ?? {}
      const response = await auditor.ask(`${to}${path.endsWith('events') ? '?follow=false' : ''}`, {
        method,
        ...(method === 'POST' && { json }),
      })
      await response.text()
      expect(isFor(allowed, 'auditor'), `${method} ${path}`).toBe(method === 'GET')
      expect(response.status, `${method} ${path}`).toBe(method === 'GET' ? 200 : 403)
    }
    const { state } = await ann.askJson(`/api/sessions/${session}/runs/${run}`)
    expect([state, await acts(session)]).toEqual(['parked', []])
  })

  it('is shown all of them, or those of one principal', async () => {
    const [ann, bob, auditor] = [
      await somebody('user'),
      await somebody('user'),
      await somebody('auditor'),
    ]
    const [hers, his] = [await parkedRun(ann), await parkedRun(bob)]
    const list = async (query = ''): Promise<string[]> =>
      (await auditor.askJson(`/api/sessions${query}`)).sessions.map(({ id }: Answer) => id)
    await vi.waitFor(async () => {
      expect(await list()).toEqual(expect.arrayContaining([hers.session, his.session]))
      expect(await list(`?principal=${ann.principal}`)).toEqual([hers.session])
    }, patience)
  })
})

describe('a user or an author', () => {
  it.each(['user', 'author'])(
    'T2: as %s gets for the session of another what it gets for none, byte for byte',
    async (role) => {
      const [ann, eve] = [await somebody('user'), await somebody(role)]
      const { session, run, pause } = await parkedRun(ann)
      const told = async (to: string, init: object) => {
        const response = await eve.ask(to, init)
        return [response.status, (await response.text()).replace(/req_\w+/g, '')]
      }
      const json = { call: pause.call, decision: 'approve' }
      for (const [method, path, body] of [
        ['GET', ''],
        ['DELETE', ''],
        ['GET', '/transcript'],
        ['GET', '/events'],
        ['GET', `/runs/${run}`],
        ['POST', `/runs/${run}/cancel`, {}],
        ['POST', `/runs/${run}/decisions`, json],
      ] as const) {
        const init = { method, ...(body && { json: body }) }
        const absent = await told(`/api/sessions/${absentSession}${path}`, init)
        expect(absent[0]).toBe(404)
        expect(await told(`/api/sessions/${session}${path}`, init)).toEqual(absent)
      }
      expect(await acts(session)).toEqual([])
    },
  )
})

it('an operator follows the events of another principal’s run to its end', async () => {
  serve(() => ({ text: 'Hello' }))
  const [ann, ops] = [await somebody('user'), await somebody('operator')]
  const { id: session } = await ann.askJson('/api/sessions', { json: {} })
  const { run } = await ann.askJson(`/api/sessions/${session}/runs`, { json: { task: 'Go.' } })
  const events = await readSse(await ops.ask(`/api/sessions/${session}/events?run=${run}`))
  expect(events.at(-1)?.event).toBe('run_finished')
})
