import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { unlimited } from '../../../src/contracts/lease.ts'
import type { GivenUpRun } from '../../../src/runtime/session/types/audit-sink.ts'
import type { Metrics } from '../../../src/features/record/types/operations.ts'
import type { IncidentRecord } from '../../../src/runtime/session/types/principal.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import type { Database } from '../../../src/platform/d1/database.ts'
import { createGivenUpRuns } from '../../../src/features/record/store/audit-log.ts'
import {
  createMetricsReport,
  createModelReport,
} from '../../../src/features/record/store/metrics-report.ts'
import { createWorld } from '../models/upstreams.ts'
import { createFakeApp, errorOf, testRun, testSession, testTrace } from '../../fakes/http-deps.ts'

const nowMs = 1_790_000_000_000
const run = `/api/operator/runs/${testRun}`
const row: GivenUpRun = {
  run: testRun,
  session: testSession,
  principal: 'operator',
  agent: 'orchestrator',
  trace: testTrace,
  code: 'run_given_up',
  message: 'The run was interrupted 5 times in the same turn.',
  atMs: 5,
  state: 'open',
}
const down: Database = {
  prepare: () => {
    throw new Error('D1_ERROR: Network connection lost.')
  },
  batch: async () => [],
}
const getJson = async (response: Response | Promise<Response>) => {
  const { status } = await response
  return [status, await (await response).json()]
}

describe('GET /api/operator/audit', () => {
  it.each([
    ['', { limit: 100 }],
    [`?trace=${testTrace}`, { trace: testTrace, limit: 100 }],
    [
      `?session=${testSession}&limit=5&after=17`,
      { session: testSession, limit: 5, after: { id: 17 } },
    ],
    ['?order=desc&after=5-17', { order: 'desc', limit: 100, after: { id: 17, atMs: 5 } }],
    ['?since=2026-09-21&until=7', { sinceMs: Date.UTC(2026, 8, 21), untilMs: 7, limit: 100 }],
    ['?principal=ann&after=3', { principal: 'ann', limit: 100, after: { id: 3 } }],
    [`?type=tool_*&session=${testSession}`, { type: 'tool_*', session: testSession, limit: 100 }],
  ])('with %s asks for %j', async (query, expected) => {
    const { send, audits } = createFakeApp()
    const [status, body] = await getJson(send(`/api/operator/audit${query}`))
    expect([status, body]).toMatchObject([200, { records: [], last: 0 }])
    expect(audits).toEqual([expected])
  })

  it.each([
    ['since=2026-08-21', 400],
    ['since=2026-08-21&principal=ann', 400],
    ['since=2026-06-01&until=2026-07-03', 400],
    ['since=2026-06-01&until=2026-07-02', 200],
    ['since=2026-08-22', 200],
    ['since=2026-06-01&order=desc', 200],
    ['since=2026-06-01&after=1', 200],
    [`since=2026-06-01&session=${testSession}`, 200],
  ])('looks through at most 31 days for the oldest: %s is %i', async (query, status) => {
    const { send, audits } = createFakeApp()
    const response = await send(`/api/operator/audit?${query}`)
    expect(response.status).toBe(status)
    expect(audits).toHaveLength(status === 200 ? 1 : 0)
    if (status === 400) expect((await errorOf(response)).param).toBe('since')
  })

  it.each(['principal=ann', 'agent=a', 'type=tool_*', 'plugin=kv'])(
    'looks for %s in the last day, and says so',
    async (query) => {
      const { send, audits } = createFakeApp()
      const sinceMs = 1_790_000_000_000 - 86_400_000
      const [, body] = await getJson(send(`/api/operator/audit?${query}&order=desc`))
      expect([body, audits]).toMatchObject([{ sinceMs }, [{ sinceMs }]])
    },
  )

  it('turns what it found into JSON, with where the next page begins', async () => {
    const audit = {
      query: async () => ({ records: [], next: { id: 17, atMs: 5 }, last: 20 }),
    }
    const { send } = createFakeApp({ deps: { audit } })
    expect(await getJson(send('/api/operator/audit?order=desc'))).toEqual([
      200,
      { records: [], next: '5-17', last: 20 },
    ])
  })
})

describe('GET /api/operator/models', () => {
  const asked: number[] = []
  const modelReport = {
    since: async (atMs: number) => {
      asked.push(atMs)
      return [
        {
          provider: 'openai',
          model: 'm',
          calls: 3,
          failures: { model_rate_limited: 2 },
          latencyMs: { mean: 400, max: 900 },
          costNanoUsd: 1_500_000,
        },
      ]
    },
  }

  it('C2: shows what the record counts of each model, and how they are now', async () => {
    const { send } = createFakeApp({ deps: { modelReport } })
    const [status, body] = await getJson(send('/api/operator/models?hours=2'))
    const { sinceMs } = body as { sinceMs: number }
    expect([status, body]).toEqual([
      200,
      {
        sinceMs,
        record: [
          {
            provider: 'openai',
            model: 'm',
            calls: 3,
            failures: { model_rate_limited: 2 },
            latencyMs: { mean: 400, max: 900 },
            costUsd: 0.0015,
          },
        ],
        now: [{ id: 'scripted/one', capabilities: { tools: true } }],
      },
    ])
    expect(asked).toEqual([sinceMs])
  })

  it.each(['hours=0', 'hours=745', 'hours=x', 'days=1'])('refuses ?%s', async (query) => {
    const { send } = createFakeApp({ deps: { modelReport } })
    expect((await send(`/api/operator/models?${query}`)).status).toBe(400)
  })
})

describe('GET /api/operator/metrics', () => {
  const dayMs = 86_400_000
  const metrics: Metrics = {
    agents: [
      {
        agent: 'orchestrator',
        runs: 4,
        states: { completed: 3, failed: 1 },
        successRate: 0.75,
        turnsPerRun: 2.5,
        modelCalls: 10,
        inputTokens: 1_000,
        outputTokens: 100,
        costNanoUsd: 1_500_000,
      },
    ],
    tools: [
      {
        tool: 'a"b',
        calls: 2,
        failures: { tool_failed: 1 },
        errorRate: 0.5,
        latencyMs: { mean: 40, max: 60 },
      },
    ],
    models: [{ provider: 'p', model: 'm', calls: 0, failures: { model_auth: 2 }, costNanoUsd: 0 }],
  }
  const setUp = () => {
    const asked: number[] = []
    const since = async (atMs: number) => (asked.push(atMs), metrics)
    return { ...createFakeApp({ deps: { metrics: { since } } }), asked }
  }

  it('C7: shows success, turns, tool errors and latency, tokens and cost of the last day', async () => {
    const { send, asked } = setUp()
    const [status, body] = await getJson(send('/api/operator/metrics'))
    expect(status).toBe(200)
    const { costNanoUsd: _cost, ...agent } = metrics.agents[0]!
    const { costNanoUsd: _none, ...model } = metrics.models[0]!
    expect(body).toEqual({
      sinceMs: nowMs - dayMs,
      agents: [{ ...agent, costUsd: 0.0015 }],
      tools: metrics.tools,
      models: [{ ...model, costUsd: 0 }],
    })
    expect(asked).toEqual([nowMs - dayMs])
  })

  it.each([
    [`${nowMs - 5_000}`, nowMs - 5_000],
    ['2026-09-21', Date.UTC(2026, 8, 21)],
    ['2026-09-21T12:00:00Z', Date.UTC(2026, 8, 21, 12)],
    ['0', nowMs - 31 * dayMs],
  ])('counts since %s, but for no more than 31 days', async (since, expected) => {
    const { send, asked } = setUp()
    await send(`/api/operator/metrics?since=${since}`)
    expect(asked).toEqual([expected])
  })

  it.each([
    ['?format=prometheus', '*/*'],
    ['', 'text/plain;version=0.0.4;q=0.5,*/*;q=0.1'],
    ['', 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4'],
  ])('speaks to Prometheus with %s and Accept: %s', async (query, accept) => {
    const { send } = setUp()
    const response = await send(`/api/operator/metrics${query}`, { headers: { accept } })
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    const text = await response.text()
    expect(text).toContain(
      '# TYPE isola_runs gauge\nisola_runs{agent="orchestrator",state="completed"} 3\n',
    )
    expect(text).toContain('isola_tool_failures{tool="a\\"b",code="tool_failed"} 1\n')
    expect(text).toContain('isola_model_failures{provider="p",model="m",code="model_auth"} 2\n')
    expect(text).toContain('isola_cost_usd{agent="orchestrator"} 0.0015\n')
    expect(text).not.toContain('isola_model_latency_seconds')
  })
})

describe('the database being away', () => {
  it.each([
    ['GET', '/api/operator/audit'],
    ['GET', '/api/operator/runs'],
    ['GET', run],
    ['POST', `${run}/retry`],
    ['POST', `${run}/drop`],
    ['GET', '/api/operator/models'],
    ['GET', '/api/operator/metrics'],
  ])('N12: %s %s answers 503 and when to come back', async (method, path) => {
    const deps = {
      audit: createAuditReader(down),
      givenUp: createGivenUpRuns(down),
      modelReport: createModelReport(down),
      metrics: createMetricsReport(down, createModelReport(down)),
    }
    const { send, calls } = createFakeApp({ deps })
    const response = await send(path, { method })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect((await errorOf(response)).code).toBe('unavailable')
    expect(calls).toEqual([])
  })
})

describe('GET /api/operator/health', () => {
  const well = {
    status: 'ok',
    version: '0.1.0',
    database: 'ok',
    migrations: { state: 'ready', migration: '0001_isola.sql' },
    plugins: [],
    secrets: 'ok',
    models: { default: 'scripted/one', served: ['scripted/one'] },
    incidents: { counts: {}, newest: [] },
  }
  const incident = (over: Partial<IncidentRecord> = {}): IncidentRecord => ({
    kind: 'audit_behind',
    session: testSession,
    message: 'The record could not be carried.',
    count: 3,
    firstAtMs: 1,
    lastAtMs: nowMs - 1_000,
    ...over,
  })
  const healthWith = async (deps: Parameters<typeof createFakeApp>[0]) =>
    getJson(createFakeApp(deps).send('/api/operator/health'))
  const principalsWith = (incidents: () => Promise<readonly IncidentRecord[]>) => ({
    deps: {
      principals: {
        incidents,
        usage: () => Promise.reject(new Error('not asked')),
        clearIncident: async () => {},
      },
    },
  })

  it('is ok with version, database, migrations, models and no incident', async () => {
    expect(await healthWith({})).toEqual([200, well])
  })

  it('is degraded when a plugin is off, and says which and why', async () => {
    const problem = { plugin: 'bad', code: 'plugin_register_failed', message: 'It threw.' }
    const answer = await healthWith({ deps: { pluginProblems: async () => [problem] } })
    expect(answer).toEqual([200, { ...well, status: 'degraded', plugins: [problem] }])
  })

  it('E1: is degraded when a cost limit meets a default model without a price, and says so', async () => {
    const servers = [{ id: 'local', baseUrl: 'http://local/v1', models: [] }]
    const { models } = createWorld({}, { defaultModel: 'local/llama', servers })
    const priced = createWorld(
      {},
      {
        defaultModel: 'local/llama',
        servers,
        prices: { llama: { inputUsdPerMillion: 0, outputUsdPerMillion: 0 } },
      },
    )
    const costLimits = async () => ['ISOLA_DAILY_COST_USD']
    const [, body] = await healthWith({ deps: { models, costLimits } })
    expect(body).toMatchObject({
      status: 'degraded',
      models: {
        default: 'local/llama',
        problem: expect.stringMatching(
          /local\/llama.*ISOLA_PRICES.*Limits: ISOLA_DAILY_COST_USD\.$/,
        ),
      },
    })
    const fine = { default: 'local/llama', served: ['local/llama'] }
    expect(await healthWith({ deps: { models } })).toEqual([200, { ...well, models: fine }])
    expect(await healthWith({ deps: { models: priced.models, costLimits } })).toEqual([
      200,
      { ...well, models: fine },
    ])
  })

  it('N12: answers 200 and says so while the database is away, though it once was ready', async () => {
    const answer = await healthWith({ deps: { database: async () => 'unreachable' } })
    expect(answer).toEqual([200, { ...well, status: 'degraded', database: 'unreachable' }])
  })

  it('N12: counts what goes wrong by kind, shows the newest 20, and is degraded by it', async () => {
    const list = Array.from({ length: 30 }, (_, index) =>
      incident({ session: `ses_${index}`, kind: index < 10 ? 'model_failing' : 'audit_behind' }),
    )
    const [, body] = await healthWith(principalsWith(async () => list))
    expect(body).toMatchObject({
      status: 'degraded',
      incidents: {
        counts: { model_failing: 10, audit_behind: 20 },
        newest: list.slice(0, 20).map((one) => ({ id: `${one.kind}:${one.session}`, ...one })),
      },
    })
  })

  it('N12: takes an incident off the list by the id that it shows, and no other', async () => {
    const list = [
      incident(),
      incident({ kind: 'run_given_up' }),
      incident({ session: '', kind: 'retention_failed' }),
    ]
    const cleared: unknown[] = []
    const { deps } = principalsWith(async () => list)
    const { send } = createFakeApp({
      deps: {
        principals: {
          ...deps.principals,
          clearIncident: async (one) => void cleared.push({ kind: one.kind, session: one.session }),
        },
      },
    })
    const clear = async (id: string) =>
      (await send(`/api/operator/incidents/${id}`, { method: 'DELETE' })).status
    const [, { incidents }] = (await getJson(send('/api/operator/health'))) as [
      number,
      { incidents: { newest: readonly { id: string }[] } },
    ]
    const ids = incidents.newest.map(({ id }) => id)
    expect(ids).toEqual([
      `audit_behind:${testSession}`,
      `run_given_up:${testSession}`,
      'retention_failed',
    ])
    for (const id of ids) expect(await clear(id)).toBe(200)
    expect(cleared).toEqual(list.map(({ kind, session }) => ({ kind, session })))
    for (const id of ['', 'model_failing', `model_failing:${testSession}`, 'audit_behind:', '%3A'])
      expect(await clear(id)).toBe(404)
    expect(cleared).toHaveLength(3)
    cleared.length = 0
    expect(await clear('all')).toBe(200)
    expect(cleared).toEqual(list.map(({ kind, session }) => ({ kind, session })))
  })

  it('is ok again an hour after the last fault was reported', async () => {
    const past = incident({ lastAtMs: nowMs - 3_600_000 })
    const [, body] = await healthWith(principalsWith(async () => [past]))
    expect(body).toMatchObject({ status: 'ok', incidents: { newest: [past] } })
  })

  it('has null for incidents that cannot be asked for, and is degraded', async () => {
    const [status, body] = await healthWith(principalsWith(() => Promise.reject(new Error('gone'))))
    expect([status, body]).toMatchObject([200, { status: 'degraded', incidents: null }])
  })
})

describe('the runs that were given up', () => {
  it('lists the open ones, or those in the state that is named', async () => {
    const dropped = { ...row, run: `run_${'D'.repeat(22)}`, state: 'dropped' as const }
    const { send } = createFakeApp({ givenUp: [row, dropped] })
    expect(await getJson(send('/api/operator/runs'))).toEqual([200, { runs: [row] }])
    expect(await getJson(send('/api/operator/runs?state=dropped&limit=5'))).toEqual([
      200,
      { runs: [dropped] },
    ])
  })

  it('shows one with what its session knows of it, asked for its own principal', async () => {
    const { send, calls } = createFakeApp({ givenUp: [{ ...row, principal: 'somebody' }] })
    const [status, body] = await getJson(send(run))
    expect([status, body]).toMatchObject([200, { run: testRun, view: { state: 'completed' } }])
    expect(calls).toEqual([{ session: testSession, method: 'result', args: ['somebody', testRun] }])
  })

  it('shows one whose session was deleted', async () => {
    const refusal = { code: 'request_not_found', message: 'There is no such session.' }
    const { send } = createFakeApp({ givenUp: [row], refusal })
    expect(await getJson(send(run))).toEqual([200, { ...row, view: null }])
  })

  it('starts one again, and names the same new run when it is asked twice', async () => {
    const { send, calls } = createFakeApp({ givenUp: [row] })
    const answers = [
      await send(`${run}/retry`, { json: {} }),
      await send(`${run}/retry`, { json: {} }),
    ]
    const bodies = await Promise.all(answers.map((answer) => answer.text()))
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    expect(bodies[0]).toBe(bodies[1])
    expect(JSON.parse(bodies[0]!)).toEqual({
      session: testSession,
      run: testRun,
      createdAtMs: nowMs,
    })
    expect(answers[0]?.headers.get('location')).toBe(`/api/sessions/${testSession}/runs/${testRun}`)
    expect(calls.map(({ method, args }) => [method, args])).toEqual([
      ['retry', [testRun]],
      ['retry', [testRun]],
    ])
    expect(await getJson(send('/api/operator/runs?state=retried'))).toMatchObject([
      200,
      { runs: [{ run: testRun }] },
    ])
  })

  it('keeps one on the list whose retry could not be started', async () => {
    const refusal = { code: 'request_unavailable', message: 'Later.', retryAfterMs: 2_000 }
    const { send } = createFakeApp({ givenUp: [row], refusal })
    const response = await send(`${run}/retry`, { method: 'POST' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await getJson(send('/api/operator/runs'))).toEqual([200, { runs: [row] }])
  })

  it('takes one off the list, once or twice, and asks its session nothing', async () => {
    const { send, calls } = createFakeApp({ givenUp: [row] })
    for (const _ of [1, 2]) {
      const answer = await getJson(send(`${run}/drop`, { method: 'POST' }))
      expect(answer).toEqual([200, { ...row, state: 'dropped' }])
    }
    expect(calls).toEqual([])
  })

  it.each([
    ['retry', 'dropped'],
    ['drop', 'retried'],
  ] as const)('refuses to %s what was %s', async (verb, state) => {
    const { send, calls } = createFakeApp({ givenUp: [{ ...row, state }] })
    expect((await send(`${run}/${verb}`, { method: 'POST' })).status).toBe(409)
    expect(calls).toEqual([])
  })

  it.each([
    ['GET', run, 404, null],
    ['GET', '/api/operator/runs/nonsense', 404, null],
    ['POST', `${run}/retry`, 404, null],
    ['POST', '/api/operator/runs/run_1/drop', 404, null],
    ['GET', '/api/operator/runs?state=closed', 400, 'state'],
    ['GET', '/api/operator/runs?limit=0', 400, 'limit'],
    ['GET', '/api/operator/runs?nope=1', 400, 'nope'],
    ['GET', '/api/operator/usage?principal=', 400, 'principal'],
    ['GET', '/api/operator/usage?day=1', 400, 'day'],
  ])('%s %s → %i %s', async (method, path, status, param) => {
    const { send, calls } = createFakeApp()
    const response = await send(path, { method })
    expect([response.status, (await errorOf(response)).param]).toEqual([status, param])
    expect(calls).toEqual([])
  })

  it('refuses a field that a decision does not have', async () => {
    const { send } = createFakeApp({ givenUp: [row] })
    const response = await send(`${run}/drop`, { json: { why: 'old' } })
    expect([response.status, (await errorOf(response)).param]).toEqual([400, 'why'])
  })
})

describe('GET /api/operator/usage', () => {
  it("E1: shows the caller's day in tokens and dollars, null where there is no limit", async () => {
    expect(await getJson(createFakeApp().send('/api/operator/usage'))).toEqual([
      200,
      {
        principal: 'operator',
        day: '2026-09-21',
        limits: { tokens: 1_000, costUsd: null },
        settled: { tokens: 100, costUsd: 2.5 },
        reserved: { tokens: 40, costUsd: 0 },
        openRuns: 1,
      },
    ])
  })

  it('asks for the principal that is named, and says so when it cannot be asked', async () => {
    const asked: string[] = []
    const unlimitedDay = { tokens: unlimited, costNanoUsd: unlimited }
    const usage = async (principal: string) => {
      asked.push(principal)
      if (principal === 'gone')
        throw new IsolaError('request_unavailable', 'Later.', { retryAfterMs: 5_000 })
      const nothing = { tokens: 0, costNanoUsd: 0 }
      return { day: 'd', limits: unlimitedDay, settled: nothing, reserved: nothing, openRuns: 0 }
    }
    const { send } = createFakeApp({
      deps: { principals: { usage, incidents: async () => [], clearIncident: async () => {} } },
    })
    expect((await send('/api/operator/usage?principal=key_1')).status).toBe(200)
    expect((await send('/api/operator/usage?principal=gone')).status).toBe(503)
    expect(asked).toEqual(['key_1', 'gone'])
  })
})
