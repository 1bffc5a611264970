import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import type { DeploymentEvent } from '../../../src/contracts/event.ts'
import { createFakeApp, parked, testRun, testSession } from '../../fakes/http-deps.ts'
import { dataOf } from '../../fakes/events.ts'

const session = `/api/sessions/${testSession}`
const run = `${session}/runs/${testRun}`
const { sessionId: _session, trace: _trace, ...view } = parked

/** An operator who reads the session of another principal, and a record that may be away. */
function open(isAway: boolean, deletions: readonly ('kept' | 'gone')[] = []) {
  const events: DeploymentEvent[] = []
  const left = [...deletions]
  const { send, calls } = createFakeApp({
    view,
    isKept: () => left.shift() === 'kept',
    owner: 'operator',
    deps: {
      authenticate: async () => ({ id: 'ops', role: 'operator' }),
      deploymentLog: {
        append: async (event) => {
          if (isAway) throw new IsolaError('request_unavailable', 'Not now.')
          events.push(event)
        },
      },
    },
  })
  const inItsName = () => calls.filter(({ args }) => args[0] === 'operator')
  return { send, events, methods: () => inItsName().map(({ method }) => method), calls }
}
const approve = { call: 'call_1', decision: 'approve' }

describe("an operator's act in the session of another", () => {
  it.each([
    ['cancel', `${run}/cancel`, { json: {} }],
    ['decide', `${run}/decisions`, { json: approve }],
  ])(
    'with the record away: %s is done and told as 503, to be repeated',
    async (act, path, init) => {
      const { send, methods } = open(true)
      expect((await send(path, init)).status).toBe(503)
      expect(methods().at(-1)).toBe(act)
    },
  )

  it('with the record away: nothing is deleted', async () => {
    const { send, methods } = open(true)
    expect((await send(session, { method: 'DELETE' })).status).toBe(503)
    expect(methods()).toEqual([])
  })

  it('says on the record what was asked each time, and once that it is done', async () => {
    const { send, events } = open(false, ['kept', 'kept'])
    const statuses = []
    for (let tries = 0; tries < 3; tries += 1)
      statuses.push((await send(session, { method: 'DELETE' })).status)
    expect(statuses).toEqual([503, 503, 200])
    expect(events.map((event) => [event.type, dataOf(event)['step']])).toEqual([
      ['session_deleted', 'asked'],
      ['session_deleted', 'asked'],
      ['session_deleted', 'asked'],
      ['session_deleted', 'done'],
    ])
  })

  it('approves the arguments that the record names, as those that were shown, and says by whom', async () => {
    const { send, calls, events } = open(false)
    await send(`${run}/decisions`, { json: approve })
    const { argsHash } = parked.pauses[0]!
    expect(calls.at(-1)).toMatchObject({
      method: 'decide',
      args: [
        'operator',
        testRun,
        'call_1',
        { decision: 'approve', argsHash },
        { principal: 'ops', role: 'operator', via: 'session' },
      ],
    })
    expect(events).toMatchObject([
      { type: 'call_decided', principal: 'ops', data: { owner: 'operator', argsHash } },
    ])
    expect(events[0]?.data).toMatchObject({ scope: 'once' })
    expect(events[0]?.data).not.toHaveProperty('rule')
  })

  it('C7: has on the record which rule the yes to a call in another’s session makes', async () => {
    const { send, events } = open(false)
    const { argsHash } = parked.pauses[0]!
    for (const also of ['session', 'always'])
      await send(`${run}/decisions`, { json: { ...approve, argsHash, also } })
    expect(events.map(({ data }) => data)).toMatchObject([
      { scope: 'session', rule: expect.stringMatching(/^rul_/) },
      { scope: 'rule', rule: expect.stringMatching(/^rul_/) },
    ])
  })

  it.each([
    ['tree', session, {}],
    ['transcript', `${session}/transcript`, {}],
    ['events', `${session}/events`, {}],
    ['result', run, {}],
    ['cancel', `${run}/cancel`, { json: {} }],
    ['decide', `${run}/decisions`, { json: approve }],
    ['delete', session, { method: 'DELETE' }],
  ])('%s: an own session is asked in the own name, once', async (method, path, init) => {
    const { send, calls } = createFakeApp({ view, owner: 'operator' })
    expect((await send(path, init)).status).toBe(200)
    expect(calls.map((call) => [call.method, call.args[0]])).toEqual([[method, 'operator']])
  })

  it('looks for the owner of a session that is not its own, and finds none of one that is not there', async () => {
    const { send, calls } = open(false)
    expect((await send(session)).status).toBe(200)
    expect(calls.map((call) => [call.method, call.args[0]])).toEqual([
      ['tree', 'ops'],
      ['owner', undefined],
      ['tree', 'operator'],
    ])
    const refusal = { code: 'request_not_found', message: 'Not there.' }
    expect((await createFakeApp({ refusal }).send(session)).status).toBe(404)
  })
})
