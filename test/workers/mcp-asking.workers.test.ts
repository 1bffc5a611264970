import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { callJson, type Answer } from '../fakes/client.ts'
import { elicit, legacy, modern, modernOf, sample } from '../fakes/mcp-asking.ts'
import { createFakeMcp } from '../fakes/mcp-server.ts'
import { installUpstream } from '../fakes/upstream.ts'

const path = '/api/operator/mcp'
const patience = { timeout: 60_000, interval: 50 }
let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

const accept = (content: object) => ({ action: 'accept', content })

const serverOf = (era: string, id: string, request: { readonly method: string }) => {
  const url = `https://${id}.example.com/mcp`
  return era === 'legacy'
    ? legacy(() => request, url)
    : createFakeMcp({ url, ...modern({ a: request }) })
}

/** A server that asks in the middle of its tool, added with what it may ask, and a run that calls the tool. */
async function begun(era: string, request: { readonly method: string }, allow: object) {
  const id = `${era}-${request.method.split('/')[0]}`
  const server = serverOf(era, id, request)
  upstream = installUpstream(({ messages, tools }) => {
    const last = messages.at(-1)
    if (tools === undefined || tools.length === 0) return { text: 'A summary.' }
    return last?.role === 'tool'
      ? { text: String(last.content) }
      : { calls: [{ name: 'isola__call', input: { name: `${id}__say`, input: { text: 'x' } } }] }
  }, server.answer)
  await callJson(path, { json: { id, url: server.url, allow } })
  const { listing } = await callJson(`${path}/${id}/look`, { json: {} })
  await callJson(`${path}/${id}/approve`, { json: { hash: listing.hash, harmless: ['*'] } })
  await callJson(`${path}/${id}/enable`, { json: {} })
  const { id: session } = await callJson('/api/sessions', { json: {} })
  const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go' } })
  const of = `/api/sessions/${session}/runs/${run}`
  const inState = (state: string): Promise<Answer> =>
    vi.waitFor(async () => {
      const view = await callJson(of)
      expect(view.state).toBe(state)
      return view
    }, patience)
  return { id, server, of, inState }
}

describe.each(['modern', 'legacy'])('a remote server of the %s protocol', (era) => {
  it('T18, E6: asks the person of the run where it may, by its name, and goes on with the answer, also after a restart', async () => {
    const { id, of, inState, server } = await begun(era, elicit('Your name?'), {
      elicitation: true,
    })
    const { pauses } = await inState('parked')
    const [{ call, asks, asksHash }] = pauses
    const [key = '', asked] = Object.entries<Answer>(asks)[0] ?? []
    expect(asked.message).toBe(`The MCP server "${id}" (${id}.example.com) asks: Your name?`)
    expect(JSON.stringify(server.state.said)).not.toContain('accept')
    await abortAllDurableObjects()
    const output = { [key]: accept({ name: 'Ann' }) }
    await callJson(`${of}/decisions`, { json: { call, decision: 'result', output, asksHash } })
    const { result } = await inState('completed')
    expect(result.result).toContain('Ann')
  })

  it('T18: asks no person where it may not', async () => {
    const { inState, server } = await begun(era, sample, {})
    const { result } = await inState('completed')
    expect(result.result).not.toContain('A summary.')
    expect(JSON.stringify(server.state.said)).not.toContain('A summary.')
  })
})

it.each(['modern', 'legacy'])(
  'T18: what a %s server asks in calls side by side reaches the run whose call it is',
  async (era) => {
    const id = `many-${era}`
    const url = `https://${id}.example.com/mcp`
    const server =
      era === 'legacy' ? legacy(elicit, url) : createFakeMcp({ url, ...modernOf(elicit) })
    const calls = ({ messages }: { messages: readonly { role: string; content?: unknown }[] }) =>
      messages.at(-1)?.role === 'tool'
        ? { text: String(messages.at(-1)?.content) }
        : {
            calls: [
              {
                name: 'isola__call',
                input: { name: `${id}__say`, input: { text: String(messages.at(-1)?.content) } },
              },
            ],
          }
    upstream = installUpstream(calls, server.answer)
    await callJson(path, { json: { id, url, allow: { elicitation: true } } })
    const { listing } = await callJson(`${path}/${id}/look`, { json: {} })
    await callJson(`${path}/${id}/approve`, { json: { hash: listing.hash, harmless: ['*'] } })
    await callJson(`${path}/${id}/enable`, { json: {} })
    const parked = await Promise.all(
      ['first', 'second', 'third', 'fourth'].map(async (task) => {
        const { id: session } = await callJson('/api/sessions', { json: {} })
        const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task } })
        return vi.waitFor(async () => {
          const view = await callJson(`/api/sessions/${session}/runs/${run}`)
          expect(view.state).toBe('parked')
          return [task, JSON.stringify(view.pauses)] as const
        }, patience)
      }),
    )
    for (const [task, pauses] of parked) expect(pauses).toMatch(new RegExp(`asks: [^"]*${task}`))
  },
)

it('T18, E1: a remote server asks a model out of the lease of its call', async () => {
  const { inState } = await begun('sampling', sample, { sampling: { maxTokens: 5_000 } })
  const { result } = await inState('completed')
  expect(result.result).toContain('A summary.')
  expect(upstream?.requests.length).toBeGreaterThan(2)
})
