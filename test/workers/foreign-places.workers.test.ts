import { afterEach, describe, expect, it } from 'vitest'
import { call, callJson } from '../fakes/client.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

/** A session with a run that is over. */
async function talk() {
  const { id } = await callJson('/api/sessions', { json: {} })
  const json = { task: 'Hi', wait: true }
  const run = await callJson(`/api/sessions/${id}/runs`, { json })
  return { session: `/api/sessions/${id}`, run: run.id as string }
}

describe('I10: a place that is of another session', () => {
  it('is refused by the name of the parameter, where one of its own is read on from', async () => {
    upstream = installUpstream(() => ({ text: 'Hi' }))
    const [own, other] = [await talk(), await talk()]
    const read = async (path: string, run: string) => {
      const [route = '', header] = path.split(' ')
      const headers: Record<string, string> = header ? { [header]: `${run}:1` } : {}
      const response = await call(`${own.session}${route.replace('RUN', run)}`, { headers })
      const text = await response.text()
      return response.ok ? [response.status] : [response.status, JSON.parse(text).error.param]
    }
    const paths = {
      cursor: '/events?follow=false&cursor=RUN:1',
      'last-event-id': '/events?follow=false last-event-id',
      after: '/transcript?after=RUN',
      before: '?before=RUN',
    }
    for (const [param, path] of Object.entries(paths)) {
      expect([param, await read(path, own.run)]).toEqual([param, [200]])
      expect([param, await read(path, other.run)]).toEqual([param, [404, param]])
    }
  })
})
