import { describe, expect, it } from 'vitest'
import type { Principal } from '../../../src/contracts/operations.ts'
import { createFakeApp, testSession } from '../../fakes/http-deps.ts'

const limits = { tokens: 500, asOfMs: 1_790_000_000_000 }
const appOf = (rights: Partial<Principal>) =>
  createFakeApp({
    deps: { authenticate: async () => ({ id: 'alice', key: 'key_1', role: 'user', ...rights }) },
  })
const chat = (model: string) => ({ model, messages: [{ role: 'user', content: 'Hi' }] })
const idsOf = async (response: Response) =>
  ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
/** The reply without its request id. */
const told = async (response: Response) =>
  `${response.status} ${(await response.text()).replace(/req_\d+/, '')}`

describe('I26: what a key may not use', () => {
  it('is not listed', async () => {
    const all = ['orchestrator', 'code-reviewer', 'scripted/one']
    const listed = async (rights: Partial<Principal>) =>
      idsOf(await appOf(rights).send('/v1/models'))
    expect(await listed({})).toEqual(all)
    expect(await listed({ agents: ['orchestrator'] })).toEqual(['orchestrator', 'scripted/one'])
    expect(await listed({ models: ['other/one'] })).toEqual(['orchestrator', 'code-reviewer'])
    // Models are run by the orchestrator.
    expect(await listed({ agents: ['code-reviewer'] })).toEqual(['code-reviewer'])
    expect(await listed({ agents: [], models: [] })).toEqual([])
  })

  it.each([
    ['an agent', { agents: ['orchestrator'] }, 'code-reviewer', '/v1/models/code-reviewer'],
    ['the orchestrator', { agents: ['code-reviewer'] }, 'orchestrator', '/v1/models/orchestrator'],
    ['a model', { models: ['other/one'] }, 'scripted/one', '/v1/models/scripted/one'],
    [
      'a model without the orchestrator',
      { agents: ['code-reviewer'] },
      'scripted/one',
      '/v1/models/scripted/one',
    ],
  ])('%s answers like what is not there', async (_name, rights, model, path) => {
    const { send, calls } = appOf(rights)
    const absent = await told(await send('/v1/chat/completions', { json: chat('nobody') }))
    expect(absent).toContain('404')
    expect(absent).toContain('model_not_found')
    expect(await told(await send('/v1/chat/completions', { json: chat(model) }))).toBe(absent)
    expect(await told(await send(path))).toBe(await told(await send('/v1/models/nobody')))
    expect(calls).toEqual([])
  })

  it('is not there for a response either', async () => {
    const { send, calls } = appOf({ agents: ['orchestrator'], models: ['other/one'] })
    const ask = async (model: string) =>
      told(await send('/v1/responses', { json: { model, input: 'Hi' } }))
    expect(await ask('nobody')).toContain('model_not_found')
    for (const model of ['code-reviewer', 'scripted/one'])
      expect(await ask(model)).toBe(await ask('nobody'))
    expect(calls).toEqual([])
  })

  it('is not there for a new session either', async () => {
    const { send, calls } = appOf({ agents: ['orchestrator'] })
    const make = async (agent: string) => told(await send('/api/sessions', { json: { agent } }))
    expect(await make('code-reviewer')).toBe(await make('nobody'))
    expect(calls).toEqual([])
    expect(await make('orchestrator')).toContain('201')
  })

  it('is not there for a run, neither the model nor the agent of an older session', async () => {
    const runs = `/api/sessions/${testSession}/runs`
    const { send, calls, submitted } = appOf({ agents: ['orchestrator'], models: ['other/one'] })
    const start = async (model: string) => told(await send(runs, { json: { task: 'x', model } }))
    expect(await start('scripted/one')).toBe(await start('nobody'))
    expect(calls).toEqual([])
    await send(runs, { json: { task: 'x' } })
    expect(submitted()).toMatchObject({ allowedAgents: ['orchestrator'] })
  })
})

it('B14: a key with a list of agents erases no person, and its principal least of all', async () => {
  const { send } = appOf({ agents: ['orchestrator'] })
  const asked = await send('/api/erasure', { json: { confirm: 'alice' } })
  expect([asked.status, await asked.text()]).toEqual([
    403,
    expect.stringContaining('may talk to orchestrator alone, and erases nobody'),
  ])
})

describe('what a key may use', () => {
  it('is a model however it is written', async () => {
    const { send } = appOf({ models: ['gpt-test'] })
    for (const model of ['gpt-test', 'scripted/one', 'scripted/two'])
      expect((await send('/v1/chat/completions', { json: chat(model) })).status).toBe(200)
  })

  it("I12: goes with its principal's limits, so that the session holds the run to them", async () => {
    const { send, submitted } = appOf({ limits })
    await send('/v1/chat/completions', { json: chat('orchestrator') })
    expect(submitted()).toMatchObject({ principal: 'alice', key: 'key_1', dayLimits: limits })
    await send('/v1/responses', { json: { model: 'orchestrator', input: 'Hi' } })
    expect(submitted()).toMatchObject({ principal: 'alice', key: 'key_1', dayLimits: limits })
    await send(`/api/sessions/${testSession}/runs`, { json: { task: 'x' } })
    expect(submitted()).toMatchObject({ principal: 'alice', key: 'key_1', dayLimits: limits })
  })

  it('has no limits of its own with the operator key', async () => {
    const { send, submitted } = createFakeApp()
    await send('/v1/chat/completions', { json: chat('orchestrator') })
    expect(submitted()).not.toHaveProperty('dayLimits')
    expect(submitted()).not.toHaveProperty('allowedAgents')
  })
})
