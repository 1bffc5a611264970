import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it } from 'vitest'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import { sessionProtocol, type SubmitRequest } from '#runtime/session/types/submission.ts'
import { composeRuntime } from '../../src/compose/composition.ts'
import { createHttpApp } from '../../src/surfaces/http/app.ts'
import { routeTable } from '../../src/routes.gen.ts'
import { composeEntry } from '../../src/runtime/session/entry/run-input.ts'
import { callJson, type Answer } from '../fakes/client.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const newSession = async () => (await callJson('/api/sessions', { json: {} })).id as string

describe('F32: a call between two versions', () => {
  /** The surfaces of a Worker whose calls of sessions are those of another version. */
  const surfaceOf = (change: (submission: SubmitRequest) => SubmitRequest) => {
    const { http } = composeRuntime(env as unknown as Env)
    const at: SessionGateway['at'] = (id) => {
      const session = http.sessions.at(id)
      // What it can do is asked of a stub each time: there is nothing to copy.
      return Object.assign(Object.create(session) as typeof session, {
        submit: (name: string, submission: SubmitRequest) =>
          session.submit(name, change(submission)),
        run: (name: string, submission: SubmitRequest) => session.run(name, change(submission)),
      })
    }
    const sessions = { ...http.sessions, at }
    const entry = composeEntry({ ...http.sources, sessions, usage: http.principals.usage })
    const app = createHttpApp({ ...http, sessions, entry }, routeTable)
    return async (path: string, json: object) => {
      const headers = {
        authorization: 'Bearer isk_test_operator_key',
        'content-type': 'application/json',
      }
      const init = { method: 'POST', headers, body: JSON.stringify(json) }
      return app.fetch(new Request(`http://isola.test${path}`, init), env as never)
    }
  }

  it('of a later protocol is refused with 409, and leaves nothing', async () => {
    const { requests } = withModel(() => ({ text: 'hi' }))
    const session = await newSession()
    const send = surfaceOf((submission) => ({ ...submission, protocol: sessionProtocol + 1 }))
    const response = await send(`/api/sessions/${session}/runs`, { task: 'go' })
    expect(response.status).toBe(409)
    expect(((await response.json()) as Answer).error).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('older version (protocol 1, asked 2)'),
    })
    expect((await callJson(`/api/sessions/${session}`)).runs).toEqual([])
    expect(requests).toHaveLength(0)
  })

  it('with a field that this version does not know is taken, and the field is ignored', async () => {
    withModel(() => ({ text: 'hi' }))
    const session = await newSession()
    const send = surfaceOf(
      (submission) => ({ ...submission, later: { field: 1 } }) as SubmitRequest,
    )
    const response = await send(`/api/sessions/${session}/runs`, { task: 'go', wait: true })
    expect(await response.json()).toMatchObject({ state: 'completed', result: { result: 'hi' } })
  })
})
