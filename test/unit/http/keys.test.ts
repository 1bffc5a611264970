import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { createFakeApp, errorOf } from '../../fakes/http-deps.ts'

const path = '/api/operator/keys'
const startMs = 1_790_000_000_000
type Json = Record<string, any> // oxlint-disable-line typescript/no-explicit-any

const bodyOf = async (response: Response | Promise<Response>): Promise<Json> =>
  (await response).json() as Promise<Json>

describe('POST /api/operator/keys', () => {
  it('makes a key and shows it in this answer, which must not be cached', async () => {
    const { send } = createFakeApp()
    const json = {
      principal: 'alice',
      role: 'user',
      agents: ['code-reviewer'],
      models: ['scripted/one'],
      limits: { dailyTokens: 5_000, dailyCostUsd: 2.5 },
      expiresInMs: 60_000,
    }
    const response = await send(path, { json })
    expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store'])
    const { key, ...shown } = await bodyOf(response)
    expect(key).toMatch(/^isk_/)
    const { expiresInMs: _in, ...asked } = json
    expect(shown).toEqual({
      ...asked,
      id: expect.stringMatching(/^key_/),
      state: 'active',
      hint: key.slice(0, 8),
      persona: null,
      createdAtMs: startMs,
      expiresAtMs: startMs + 60_000,
      revokedAtMs: null,
    })
    expect(await bodyOf(send(path))).toEqual({ keys: [shown] })
  })

  it('has null for everything, for the limits of the deployment and for never', async () => {
    const { send } = createFakeApp()
    const shown = await bodyOf(send(path, { json: { principal: 'alice', role: 'auditor' } }))
    const limits = { dailyTokens: null, dailyCostUsd: null }
    expect(shown).toMatchObject({ agents: null, models: null, limits, expiresAtMs: null })
  })

  it('takes zero as a limit', async () => {
    const { send } = createFakeApp()
    const limits = { dailyTokens: 0, dailyCostUsd: 0 }
    const json = { principal: 'alice', role: 'user', limits }
    expect(await bodyOf(send(path, { json }))).toMatchObject({ limits })
  })

  it('is 409 for new rights of a principal that is there', async () => {
    const { send } = createFakeApp()
    const json = { principal: 'alice', role: 'user' }
    await send(path, { json })
    const response = await send(path, { json })
    expect([response.status, (await errorOf(response)).param]).toEqual([409, 'principal'])
  })

  it.each([
    [{}, 'principal'],
    [{ principal: 'alice' }, 'role'],
    [{ principal: 'Alice', role: 'user' }, 'principal'],
    [{ principal: 'operator', role: 'user' }, 'principal'],
    [{ principal: 'a', role: 'admin' }, 'role'],
    [{ principal: 'a', role: 'user', agents: [] }, 'agents'],
    [{ principal: 'a', role: 'user', agents: ['orchestrator', 'nobody'] }, 'agents[1]'],
    [{ principal: 'a', role: 'user', models: ['other/one'] }, 'models[0]'],
    [{ principal: 'a', role: 'user', limits: { dailyTokens: -1 } }, 'limits.dailyTokens'],
    [{ principal: 'a', role: 'user', limits: { tokens: 1 } }, 'limits.tokens'],
    [{ principal: 'a', role: 'user', expiresInMs: 0 }, 'expiresInMs'],
    [{ principal: 'a', role: 'user', expiresAtMs: 5 }, 'expiresAtMs'],
    [{ principal: 'a', role: 'user', expiresInMs: 5, expiresAtMs: 9e12 }, 'expiresInMs'],
    [{ principal: 'a', agents: ['orchestrator'] }, 'agents'],
    [{ principal: 'a', role: 'user', hash: 'x' }, 'hash'],
    [{ principal: 'a', role: 'user', persona: 'calm' }, 'persona'],
    [{ principal: 'a', role: 'user', persona: '' }, 'persona'],
  ])('%j is 400 and names %s', async (json, param) => {
    const { send } = createFakeApp()
    const response = await send(path, { json })
    const error = await errorOf(response)
    expect([response.status, error.param]).toEqual([400, param])
    expect(error.message).toContain(param)
    expect(await bodyOf(send(path))).toEqual({ keys: [] })
  })
})

describe('the other routes of keys', () => {
  const add = async () => {
    const fake = createFakeApp()
    const made = await bodyOf(
      fake.send(path, { json: { principal: 'alice', role: 'user', expiresInMs: 60_000 } }),
    )
    return { ...fake, made, of: `${path}/${made['id']}` }
  }

  it('revokes: repeated it is answered with the same bytes', async () => {
    const { send, of } = await add()
    const answers = [
      await send(`${of}/revoke`, { json: {} }),
      await send(`${of}/revoke`, { json: {} }),
    ]
    const bodies = await Promise.all(answers.map((answer) => answer.text()))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(bodies[0]).toBe(bodies[1])
    expect(JSON.parse(bodies[0]!)).toMatchObject({ state: 'revoked', revokedAtMs: startMs })
  })

  it('rotates: shows the new key once, and lists both', async () => {
    const { send, of, made } = await add()
    const response = await send(`${of}/rotate`, { json: { graceMs: 1_000 } })
    const next = await bodyOf(response)
    expect(response.status).toBe(201)
    expect(next).toMatchObject({ principal: 'alice', expiresAtMs: startMs + 60_000 })
    expect(next['key']).not.toBe(made['key'])
    const { keys } = await bodyOf(send(`${path}?principal=alice`))
    expect(keys).toMatchObject([
      { id: next['id'] },
      { id: made['id'], state: 'active', expiresAtMs: startMs + 1_000 },
    ])
    expect(JSON.stringify(keys)).not.toContain(next['key'])
  })

  it('is 409 to rotate what has ended', async () => {
    const { send, of } = await add()
    await send(`${of}/revoke`, { method: 'POST' })
    expect((await send(`${of}/rotate`, { method: 'POST' })).status).toBe(409)
  })

  it.each([
    ['POST', '/key_1/revoke', {}, 404, null],
    ['POST', `/key_${'A'.repeat(22)}/revoke`, {}, 404, null],
    ['POST', `/key_${'A'.repeat(22)}/rotate`, {}, 404, null],
    ['POST', `/key_${'A'.repeat(22)}/revoke`, { why: 'x' }, 400, 'why'],
    ['POST', `/key_${'A'.repeat(22)}/rotate`, { graceMs: -1 }, 400, 'graceMs'],
    ['POST', `/key_${'A'.repeat(22)}/rotate`, { grace: 1 }, 400, 'grace'],
    ['GET', '?limit=0', undefined, 400, 'limit'],
    ['GET', '?principal=No!', undefined, 400, 'principal'],
    ['GET', '?state=active', undefined, 400, 'state'],
  ])('%s %s %j → %i %s', async (method, rest, json, status, param) => {
    const response = await createFakeApp().send(path + rest, { method, ...(json && { json }) })
    expect([response.status, (await errorOf(response)).param]).toEqual([status, param])
  })

  it('F15: are unavailable while the database is away', async () => {
    const away = () => Promise.reject(new IsolaError('request_unavailable', 'Later.'))
    const keys = { list: away, add: away, change: away, revoke: away, rotate: away }
    const { send } = createFakeApp({ deps: { keys } })
    const response = await send(path)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
  })
})

describe('POST /api/operator/principals/:principal', () => {
  const change = async (json: object, name = 'alice') => {
    const { send } = createFakeApp()
    const limits = { dailyTokens: 5, dailyCostUsd: 1 }
    await send(path, {
      json: { principal: 'alice', role: 'user', agents: ['orchestrator'], limits },
    })
    return send(`/api/operator/principals/${name}`, { json })
  }

  it.each([
    [{}, { role: 'user', agents: ['orchestrator'], limits: { dailyTokens: 5, dailyCostUsd: 1 } }],
    [{ role: 'author' }, { role: 'author', agents: ['orchestrator'] }],
    [
      { agents: null, models: ['gpt-test'] },
      { agents: null, models: ['gpt-test'] },
    ],
    [{ limits: { dailyTokens: 0 } }, { limits: { dailyTokens: 0, dailyCostUsd: 1 } }],
    [{ limits: { dailyCostUsd: null } }, { limits: { dailyTokens: 5, dailyCostUsd: null } }],
  ])('with %j makes it %j', async (json, expected) => {
    const response = await change(json)
    expect([response.status, await bodyOf(response)]).toMatchObject([
      200,
      { principal: 'alice', ...expected },
    ])
  })

  it.each([
    [{ role: null }, 'role'],
    [{ agents: ['nobody'] }, 'agents[0]'],
    [{ limits: { dailyTokens: 1.5 } }, 'limits.dailyTokens'],
    [{ principal: 'bob' }, 'principal'],
  ])('%j is 400 and names %s', async (json, param) => {
    const response = await change(json)
    expect([response.status, (await errorOf(response)).param]).toEqual([400, param])
  })

  it('is 404 for a principal that does not exist, and for the holder of the operator key', async () => {
    for (const name of ['bob', 'operator'])
      expect((await change({ role: 'user' }, name)).status).toBe(404)
  })
})
