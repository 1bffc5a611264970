import { describe, expect, it } from 'vitest'
import { createSessionGateway } from '../../../src/runtime/session/gateway.ts'
import { createFakeApp, errorOf, testRun, testSession } from '../../fakes/http-deps.ts'
import { problemsOf } from '../../fakes/openai-schema.ts'
import { sha256 } from '../../fakes/kernel.ts'

const session = `/api/sessions/${testSession}`
const run = `${session}/runs/${testRun}`
const chat = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] }

/** Every route behind which there is a session. */
const routes: readonly (readonly [string, string, object | undefined])[] = [
  ['POST', '/v1/chat/completions', chat],
  ['POST', '/v1/chat/completions', { ...chat, stream: true }],
  ['POST', '/api/sessions', {}],
  ['GET', session, undefined],
  ['DELETE', session, undefined],
  ['POST', `${session}/runs`, { task: 'x' }],
  ['POST', `${session}/runs`, { task: 'x', wait: true }],
  ['GET', run, undefined],
  ['POST', `${run}/cancel`, {}],
  ['POST', `${run}/messages`, { message: 'x' }],
  ['POST', `${run}/decisions`, { call: 'c', decision: 'deny' }],
  ['GET', `${session}/events`, undefined],
  ['GET', `${session}/transcript`, undefined],
]

/** The app over real gateways to objects that answer nothing but this error. */
function createBrokenApp(error: Error) {
  const stub = new Proxy({}, { get: () => () => Promise.reject(error) })
  const sessions = createSessionGateway({ namespace: { getByName: () => stub }, sha256 })
  return createFakeApp({ deps: { sessions } })
}

const broken = (flags: object) => Object.assign(new Error('secret'), flags)

describe('an object that cannot be reached', () => {
  it.each(routes)('F1: %s %s %j is a 503 to be repeated', async (method, path, json) => {
    const { send, faults } = createBrokenApp(broken({ durableObjectReset: true }))
    const response = await send(path, { method, ...(json && { json }) })
    const body = await response.json()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect(problemsOf('ErrorResponse', body)).toEqual([])
    expect(body).toMatchObject({ error: { type: 'server_error', code: 'unavailable' } })
    expect(JSON.stringify(body)).not.toContain('secret')
    expect(faults).toMatchObject([{ cause: { message: 'secret' } }])
  })

  it.each(routes)('F30: %s %s %j of an overloaded one waits longer', async (method, path, json) => {
    const { send } = createBrokenApp(broken({ overloaded: true, retryable: true }))
    const response = await send(path, { method, ...(json && { json }) })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
  })

  it.each(routes)('%s %s %j stays a 500 for a bug', async (method, path, json) => {
    const { send } = createBrokenApp(broken({ remote: true }))
    const response = await send(path, { method, ...(json && { json }) })
    expect([response.status, response.headers.get('retry-after')]).toEqual([500, null])
  })

  it('names the run that may be there: the same for every attempt with the key', async () => {
    const { send } = createBrokenApp(broken({ durableObjectReset: true }))
    const messages: string[] = []
    for (let n = 0; n < 2; n += 1) {
      const headers = { 'idempotency-key': 'k' }
      const response = await send('/v1/chat/completions', { json: chat, headers })
      messages.push((await errorOf(response)).message)
    }
    expect(messages[0]).toMatch(/run_[0-9A-Za-z]{22} may have been accepted/)
    expect(messages[1]).toBe(messages[0])
  })
})
