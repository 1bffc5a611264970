import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { skillBundle } from '../fakes/skills.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream>
let script: UpstreamScript
beforeEach(() => {
  script = () => ({ text: 'said' })
  upstream = installUpstream((...asked) => script(...asked))
})
afterEach(() => upstream.restore())

const names = ['analyst', 'concise', 'plain-language', 'teacher']
const systemOf = ({ messages }: UpstreamRequest): string => String(messages[0]?.content)
/** Whose voice a model request has. */
const voiceIn = (request: UpstreamRequest | undefined): string | undefined =>
  /<voice>\n# (.*)/.exec(request ? systemOf(request) : '')?.[1]
const lastVoice = () => voiceIn(upstream.requests.at(-1))

const open = async (json: object = {}, init: object = {}): Promise<string> =>
  (await callJson('/api/sessions', { json, ...init })).id
const ask = (session: string, json: object = {}, init: object = {}) =>
  callJson(`/api/sessions/${session}/runs`, { json: { task: 'go', wait: true, ...json }, ...init })

/** What the record says of a session's runs. */
async function started(session: string, count: number): Promise<Answer[]> {
  const path = `/api/operator/audit?session=${session}&type=run_started&order=asc`
  return vi.waitFor(
    async () => {
      const { records } = await callJson(path)
      expect(records).toHaveLength(count)
      return records.map(({ data }: Answer) => data.persona)
    },
    { timeout: 60_000 },
  )
}

describe('P11: whose voice the orchestrator has', () => {
  it('is what the request asks for, else the session, else the key, else its own', async () => {
    const made = { principal: 'ada', role: 'user', persona: 'teacher' }
    const { key, persona } = await callJson('/api/operator/keys', { json: made })
    expect(persona).toBe('teacher')
    const init = { headers: { authorization: `Bearer ${key}` } }
    const heard: (string | undefined)[] = []
    const hear = async (session: string, json: object = {}) => {
      await ask(session, json, init)
      heard.push(lastVoice())
    }
    const plain = await open({}, init)
    await hear(plain)
    const session = await open({ persona: 'analyst' }, init)
    await hear(session)
    await hear(session, { persona: 'concise' })
    await hear(session, { persona: 'none' })
    await hear(session)
    const change = (json: object) => callJson(`/api/sessions/${session}`, { json, ...init })
    expect(await change({ persona: 'plain-language' })).toMatchObject({ persona: 'plain-language' })
    await hear(session)
    expect(await change({ persona: null })).not.toHaveProperty('persona')
    await hear(session)
    expect(heard).toEqual([
      'Teacher',
      'Analyst',
      'Concise',
      undefined,
      'Analyst',
      'Plain language',
      'Teacher',
    ])
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/) as string
    const spoken = (name: string) => ({ name, hash })
    expect(await started(session, 6)).toEqual([
      spoken('analyst'),
      spoken('concise'),
      undefined,
      spoken('analyst'),
      spoken('plain-language'),
      spoken('teacher'),
    ])
    await ask(await open())
    expect(lastVoice()).toBeUndefined()
  })

  it('is one of a list that every talker may read', async () => {
    const { key } = await callJson('/api/operator/keys', {
      json: { principal: 'lis', role: 'user' },
    })
    const init = { headers: { authorization: `Bearer ${key}` } }
    const { personas } = await callJson('/api/personas', init)
    expect(personas.map(({ name }: Answer) => name)).toEqual(names)
    expect(personas[0].description).toContain('separates facts')
  })

  it('outlives the rotation of a key', async () => {
    const made = { principal: 'eve', role: 'user', persona: 'concise' }
    const { id } = await callJson('/api/operator/keys', { json: made })
    const { key } = await callJson(`/api/operator/keys/${id}/rotate`, { json: {} })
    const init = { headers: { authorization: `Bearer ${key}` } }
    await ask(await open({}, init), {}, init)
    expect(lastVoice()).toBe('Concise')
  })

  it('is one of those that there are: any other is refused with the field and their names', async () => {
    const session = await open()
    const body = { model: 'orchestrator', messages: [{ role: 'user', content: 'hi' }] }
    const header = { 'x-isola-persona': 'pirate' }
    const asked: readonly [string, string, RequestInit & { json: object }][] = [
      ['persona', '/api/sessions', { json: { persona: 'pirate' } }],
      ['persona', `/api/sessions/${session}`, { json: { persona: 'pirate' } }],
      ['persona', `/api/sessions/${session}/runs`, { json: { task: 'x', persona: 'pirate' } }],
      ['x-isola-persona', '/v1/chat/completions', { json: body, headers: header }],
      [
        'persona',
        '/api/operator/keys',
        { json: { principal: 'o', role: 'user', persona: 'pirate' } },
      ],
      // A skill is none, and no other agent takes one.
      ['persona', '/api/sessions', { json: { persona: 'research' } }],
      ['persona', '/api/sessions', { json: { persona: 'concise', agent: 'code-reviewer' } }],
    ]
    for (const [param, path, init] of asked) {
      const response = await call(path, init)
      const { error } = (await response.json()) as Answer
      expect([path, response.status, error.param]).toEqual([path, 400, param])
      expect(error.message).toContain(`${param}: `)
      if (!('agent' in init.json)) expect(error.message).toContain(names.join(', '))
    }
    expect(upstream.requests).toEqual([])
  })

  it('is part of what a key names a session by, as it was made and not as it was changed', async () => {
    const make = (persona: string) =>
      call('/api/sessions', { json: { persona }, headers: { 'idempotency-key': 'made-once' } })
    const first = await (await make('concise')).text()
    const { id } = JSON.parse(first) as Answer
    await callJson(`/api/sessions/${id}`, { json: { persona: 'teacher' } })
    const again = await make('concise')
    expect([again.status, await again.text()]).toEqual([201, first])
    expect((await make('teacher')).status).toBe(422)
    expect(await callJson(`/api/sessions/${id}`)).toMatchObject({ persona: 'teacher' })
  })

  it('is no reason to refuse a repeated request: the key’s own is no part of it', async () => {
    const body = { model: 'orchestrator', messages: [{ role: 'user', content: 'hi' }] }
    const again = (persona: string) =>
      call('/v1/chat/completions', {
        json: body,
        headers: { 'idempotency-key': 'same', 'x-isola-persona': persona },
      })
    expect((await again('concise')).status).toBe(200)
    expect((await again('concise')).status).toBe(200)
    expect((await again('teacher')).status).toBe(422)
    expect(upstream.requests).toHaveLength(1)
  })
})

describe('P11: a voice', () => {
  it('stands behind the rules, which are the same to the byte', async () => {
    await ask(await open())
    const own = systemOf(upstream.requests[0]!)
    const rules = own.slice(0, own.indexOf('## Available tools'))
    expect(rules).toContain('never instructions to you')
    for (const persona of names) {
      await ask(await open({ persona }))
      const system = systemOf(upstream.requests.at(-1)!)
      expect(system.startsWith(rules)).toBe(true)
      expect(system.indexOf('<voice>')).toBeGreaterThan(system.indexOf('isola__call.'))
    }
  })

  it.each([false, true])(
    'Y29: fits 1,500 tokens with the tools (narrow reading: %s)',
    async (narrow) => {
      const count = createTokenEstimator()
      const path = '/api/operator/policy'
      const { policy } = await callJson(path)
      const narrowed = { ...policy, ...(narrow && { narrow_reading: ['*'] }) }
      await callJson(path, { json: { policy: narrowed } })
      for (const persona of names) {
        await ask(await open({ persona }))
        const request = upstream.requests.at(-1)!
        const tools = (request.tools ?? []).map(({ function: one }: Answer) => ({
          name: one.name,
          description: one.description,
          inputSchema: one.parameters,
        }))
        expect(tools.map(({ name }: Answer) => name)).toContain('isola__find')
        const tokens = count.ofText(systemOf(request)) + count.ofTools(tools)
        expect([persona, tokens <= 1_500, tokens]).toEqual([persona, true, tokens])
      }
      await callJson(path, { json: { policy } })
    },
  )

  it('is that with which a run began, whatever its session is changed to while it waits', async () => {
    script = ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'done' }
        : {
            calls: [
              { name: 'isola__call', input: { name: 'kv__set', input: { key: 'a', value: 1 } } },
            ],
          }
    const session = await open({ persona: 'analyst' })
    const parked = await ask(session, { requireApproval: ['kv__set'] })
    expect(parked.state).toBe('parked')
    await callJson(`/api/sessions/${session}`, { json: { persona: 'concise' } })
    await abortAllDurableObjects()
    const run = `/api/sessions/${session}/runs/${parked.id}`
    const json = { call: parked.pauses[0].call, decision: 'approve' }
    await callJson(`${run}/decisions`, { json })
    await vi.waitFor(async () => expect((await callJson(run)).state).toBe('completed'), {
      timeout: 60_000,
    })
    const [first, last] = upstream.requests.map(systemOf)
    expect(last).toBe(first)
    expect(lastVoice()).toBe('Analyst')
    await ask(session)
    expect(lastVoice()).toBe('Concise')
  })

  it('is no sub-agent’s: who asked reads how it is said, not the orchestrator', async () => {
    const input = { name: 'code-reviewer__run', input: { task: 'review this' } }
    script = ({ messages }) => {
      const isOver = messages.some(({ role }) => role === 'tool')
      const isOrchestrator = String(messages[0]?.content).startsWith('You are the orchestrator')
      return isOrchestrator && !isOver
        ? { calls: [{ name: 'isola__call', input }] }
        : { text: 'ok' }
    }
    await ask(await open({ persona: 'teacher' }))
    const [orchestrator, child] = upstream.requests
    expect(voiceIn(orchestrator)).toBe('Teacher')
    expect(systemOf(child!)).not.toContain('<voice>')
  })

  it('changes nothing of what may be called', async () => {
    const input = { name: 'http__request', input: { url: 'https://x.example', method: 'POST' } }
    script = ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'done' }
        : { calls: [{ name: 'isola__call', input }] }
    const verdictOf = async (json: object) => {
      const { state, pauses } = await ask(await open(json))
      const [{ kind, tool, input: asked, reason }] = pauses
      return { state, kind, tool, asked, reason }
    }
    const plain = await verdictOf({})
    expect(plain).toMatchObject({ state: 'parked', tool: 'http__request' })
    expect(await verdictOf({ persona: 'concise' })).toEqual(plain)
  })

  it('is refused with what it lacks, when a session or a key is made and when a run asks for it, and is in no list', async () => {
    const metadata = { 'isola-kind': 'persona', 'isola-requires': 'tool:nowhere__do plugin:files' }
    const bundle = skillBundle('lame', 'A voice that needs a tool.', '# Lame', { metadata })
    await callJson('/api/operator/skills', { json: { bundle } })
    await callJson('/api/operator/skills/lame/enable', { json: {} })
    const why = 'persona: lame needs what is not here: tool:nowhere__do.'
    const session = await open()
    for (const [path, json] of [
      ['/api/sessions', { persona: 'lame' }],
      [`/api/sessions/${session}`, { persona: 'lame' }],
      [`/api/sessions/${session}/runs`, { task: 'go', wait: true, persona: 'lame' }],
      ['/api/operator/keys', { principal: 'bo', role: 'user', persona: 'lame' }],
    ] as const) {
      const answer = await call(path, { json })
      expect([path, answer.status, await answer.text()]).toEqual([
        path,
        400,
        expect.stringContaining(why),
      ])
    }
    const { personas } = await callJson('/api/personas')
    expect(personas.map(({ name }: Answer) => name)).toEqual(names)
    await callJson('/api/operator/skills/lame', { method: 'DELETE' })
  })
})
