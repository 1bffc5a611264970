import { describe, expect, it, vi } from 'vitest'
import { createSearchIndex } from '../../src/runtime/catalog/search/search-index.ts'
import { withOutsideTools } from '../../src/runtime/catalog/outside-tools.ts'
import { createPresence } from '../../src/runtime/catalog/skill-tool.ts'
import { createToolset } from '../../src/runtime/catalog/toolset.ts'
import { parseConfig } from '../../src/compose/settings.ts'
import { composeRuntime } from '../../src/compose/composition.ts'
import { createKernel } from '../../src/runtime/kernel/run.ts'
import { createPromptStore } from '../../src/features/memory/prompt-store.ts'
import { openAgents } from '../fakes/agents.ts'
import { batchOf } from '../fakes/audit-batch.ts'
import {
  createFakeModel,
  createFakeSources,
  createKernelParts,
  runInput,
  runPorts,
  sha256,
  says,
  toolEntry,
  toolsetOf,
} from '../fakes/kernel.ts'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import { createFakeGateway, submitAsTo } from '../fakes/session-gateway.ts'
import { createSqliteDatabase } from '../fakes/sqlite-database.ts'
import { storedEvent } from '../fakes/events.ts'

const event = {
  run: 'run_1',
  agent: 'orchestrator',
  trace: 'aa',
  type: 'tool_finished',
  data: {},
} as const
const key = 'isk_0123456789abcdef0123456789abcdef'

/** Bindings as a deployment has them; bindings that no test here asks for are missing. */
function bindings() {
  const settings = { ISOLA_OPERATOR_KEY: key, ISOLA_ENV: 'development', ISOLA_MODEL: '' }
  const namespace = { getByName: () => ({}) }
  const loginFailed = async () => ({ ok: true, value: {} })
  const principals = { getByName: () => ({ loginFailed }) }
  const objects = { SESSION: namespace, PRINCIPAL: principals }
  return { ...settings, ...objects, DB: createSqliteDatabase().database, KV: {} }
}
const compose = (env: ReturnType<typeof bindings>) =>
  composeRuntime(env as unknown as Env, createFakeSources())

describe('the composition', () => {
  it('X5: reads its settings once: what becomes of env later changes nothing', async () => {
    const env = bindings()
    const { http } = compose(env)
    const models = JSON.stringify(http.models.list())
    env.ISOLA_OPERATOR_KEY = 'isk_another_key_that_came_later_00000'
    env.ISOLA_MODEL = 'openai/other'
    env.ISOLA_ENV = 'production'
    expect(await http.authenticate(`Bearer ${key}`)).toMatchObject({ role: 'operator' })
    await expect(http.authenticate(`Bearer ${env.ISOLA_OPERATOR_KEY}`)).rejects.toMatchObject({
      code: 'request_unauthenticated',
    })
    expect(JSON.stringify(http.models.list())).toBe(models)
  })

  it('N5: two runtimes of one isolate share nothing', async () => {
    const [one, two] = [bindings(), bindings()]
    two.ISOLA_OPERATOR_KEY = 'isk_fedcba9876543210fedcba9876543210'
    const [first, second] = [compose(one), compose(two)]
    await expect(second.http.authenticate(`Bearer ${key}`)).rejects.toMatchObject({
      code: 'request_unauthenticated',
    })
    expect(await first.http.authenticate(`Bearer ${key}`)).toMatchObject({ role: 'operator' })
    expect(first.session.agents).not.toBe(second.session.agents)
  })

  it('I6: takes further model servers from its settings, and says on every request what is wrong with them', async () => {
    const server = { id: 'backup', base_url: 'https://models.example/v1', models: [{ name: 'm' }] }
    const settings = (one: object) => ({ ...bindings(), ISOLA_PROVIDERS: JSON.stringify([one]) })
    const { http } = compose(settings(server))
    expect(http.models.provider.select('backup/m')).toMatchObject({ substituted: false })
    const withoutKey = compose(settings({ ...server, api_key_secret_name: 'BACKUP_KEY' }))
    await expect(withoutKey.http.readiness()).rejects.toMatchObject({ code: 'config_invalid' })
    const wrong = compose(settings({ ...server, base_url: 'nowhere' }))
    await expect(wrong.http.readiness()).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('ISOLA_PROVIDERS.0.base_url'),
    })
    const keyed = {
      ...settings({ ...server, api_key_secret_name: 'BACKUP_KEY' }),
      BACKUP_KEY: 'sk',
    }
    await expect(compose(keyed).http.readiness()).resolves.toBeDefined()
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization'],
    ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'maybe'],
    ['ISOLA_LOG', 'debug'],
  ])('says on every request what is wrong with %s', async (name, value) => {
    const { http } = compose({ ...bindings(), [name]: value })
    await expect(http.readiness()).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`${name}: `),
    })
  })

  it('N7, P29: exports traces only where there is a collector, and what was said only where it is asked for', () => {
    expect(compose(bindings()).session.telemetry).toBeUndefined()
    const set = { ...bindings(), OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
    expect(compose(set).session.telemetry).toMatchObject({ capturesContent: false })
    const captured = { ...set, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' }
    expect(compose(captured).session.telemetry).toMatchObject({ capturesContent: true })
  })

  it.each([
    ['nothing', {}],
    ['another setting', { ISOLA_LOG: 'verbose' }],
    ['the model servers', { ISOLA_PROVIDERS: '[{"api_key_secret_name": "BACKUP_KEY"},' }],
    [
      'a further header',
      { OTEL_EXPORTER_OTLP_HEADERS: 'x-team=team-key-0123,wrong,a=%zz-key-0123' },
    ],
  ])('I28: no key of its settings comes out in its log, if %s is wrong', (_what, wrong) => {
    const secrets = {
      ISOLA_OPERATOR_KEY: 'operator-key-0123',
      ISOLA_MASTER_KEY: 'master-key-0123',
      OPENAI_API_KEY: 'openai-key-0123',
      BACKUP_KEY: 'backup-key-0123',
      OTEL_EXPORTER_OTLP_HEADERS:
        'authorization=Bearer%20collector-key-0123,x-honeycomb-team=team-key-0123',
    }
    const server = {
      id: 'backup',
      base_url: 'https://m.example/v1',
      api_key_secret_name: 'BACKUP_KEY',
    }
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const given = { ...secrets, ISOLA_PROVIDERS: JSON.stringify([server]), ...wrong }
    const { http } = compose({ ...bindings(), ...given })
    const headers = given.OTEL_EXPORTER_OTLP_HEADERS.matchAll(/[\w%]+-key-0123/g)
    const told = `operator-key-0123 master-key-0123 openai-key-0123 backup-key-0123 ${[...headers].join(' ')}`
    http.onFault?.(new Error(`${told} observability`), 'req_1')
    const lines = log.mock.calls.map(([line]) => String(line))
    log.mockRestore()
    expect(lines).toHaveLength(1)
    expect(lines[0]).not.toContain('key-0123')
    expect(lines[0]).toContain('observability')
  })

  it.each([
    ['ISOLA_KEEP_DAYS', 'forever', 'must be 1 to 9999 days'],
    ['ISOLA_KEEP_AUDIT_DAYS', '0', 'must be 1 to 9999 days, or forever'],
    ['ISOLA_KEEP_AUDIT_DAYS', '1 year', 'must be 1 to 9999 days, or forever'],
    [
      'ISOLA_SQL_DATABASES',
      'SQL,DB',
      "must be names of D1 bindings with commas between them, and not DB, which is Isola's own",
    ],
    ['ISOLA_SHARED_ISOLATES', 'notes;kv', 'must be ids of plugins with commas between them, or *'],
    ['ISOLA_KEEP_USAGE_DAYS', '7', 'must be 8 to 9999 days'],
    ['ISOLA_KEEP_VERSIONS_DAYS', '7', 'must be 8 to 9999 days'],
    ['ISOLA_KEEP_DRAFT_DAYS', '0', 'must be 1 to 9999 days'],
    ['ISOLA_AUTHOR_VERSIONS', '0', 'must be a whole number, 1 to 999999'],
    ['ISOLA_AUTHOR_MIB', '1 GiB', 'must be a whole number, 1 to 999999'],
    ['ISOLA_AUTHOR_ADDS_PER_HOUR', '1.5', 'must be a whole number, 1 to 999999'],
  ])('says that %s=%s is wrong, and what is right', async (name, value, what) => {
    const { http } = compose({ ...bindings(), [name]: value })
    const message = `${name}: ${what}`
    await expect(http.readiness()).rejects.toMatchObject({ code: 'config_invalid', message })
  })

  it.each([
    ['by default a year', {}, 400, 0],
    ['not less', {}, 364, 1],
    ['as set', { ISOLA_KEEP_AUDIT_DAYS: '30' }, 31, 0],
    ['empty is the default', { ISOLA_KEEP_AUDIT_DAYS: '' }, 364, 1],
    ['for ever', { ISOLA_KEEP_AUDIT_DAYS: 'forever' }, 9_000, 1],
    ['everything while the setting is wrong', { ISOLA_KEEP_AUDIT_DAYS: '30 days' }, 400, 1],
    [
      'as set while another one is wrong',
      { ISOLA_KEEP_AUDIT_DAYS: '500', ISOLA_DAILY_TOKENS: 'x' },
      400,
      1,
    ],
  ])('keeps the record: %s', async (_what, settings, ageDays, expected) => {
    const env = { ...bindings(), ...settings }
    const runtime = compose(env)
    const nowMs = runtime.session.clock.nowMs()
    const { audit } = runtime.session
    const at = (seq: number, days: number) =>
      storedEvent({ ...event, seq, atMs: nowMs - days * 86_400_000 })
    const owner = { session: 'ses_a', principal: 'operator', sinceMs: 1 }
    await audit.append(owner, batchOf([at(1, ageDays), at(2, 0)], { usedAtMs: nowMs }))
    await runtime.daily()
    const row = await env.DB.prepare('SELECT count(*) AS count FROM audit_events').first<{
      count: number
    }>()
    expect(row?.count).toBe(1 + expected)
  })

  it('keeps sessions as long as is set, though another setting is wrong, and longest if that one is', () => {
    const keptDays = (settings: object) =>
      compose({ ...bindings(), ...settings }).session.timing.keepNamedMs / 86_400_000
    expect(keptDays({})).toBe(90)
    expect(keptDays({ ISOLA_KEEP_DAYS: '500', ISOLA_DAILY_TOKENS: 'x' })).toBe(500)
    expect(keptDays({ ISOLA_KEEP_DAYS: '5 years' })).toBe(9_999)
  })

  it('keeps versions as long as is set, though another setting is wrong, and longest if that one is', () => {
    const keptDays = (settings: object) => parseConfig(settings).keepVersionsMs / 86_400_000
    expect(keptDays({})).toBe(90)
    expect(keptDays({ ISOLA_KEEP_VERSIONS_DAYS: '8', ISOLA_DAILY_TOKENS: 'x' })).toBe(8)
    expect(keptDays({ ISOLA_KEEP_VERSIONS_DAYS: '7' })).toBe(9_999)
  })

  it('keeps drafts of skills as long as is set, and longest if that is wrong', () => {
    const keptDays = (settings: object) => parseConfig(settings).keepDraftsMs / 86_400_000
    expect(keptDays({})).toBe(30)
    expect(keptDays({ ISOLA_KEEP_DRAFT_DAYS: '7', ISOLA_DAILY_TOKENS: 'x' })).toBe(7)
    expect(keptDays({ ISOLA_KEEP_DRAFT_DAYS: '0' })).toBe(9_999)
  })

  it('P21: an author has the quota that is set, or what ships', () => {
    const shipped = { maxVersions: 200, maxBytes: 134_217_728, maxAddsPerHour: 60 }
    expect(parseConfig({ ISOLA_AUTHOR_VERSIONS: '' }).pluginQuota).toEqual(shipped)
    expect(parseConfig({ ISOLA_AUTHOR_VERSIONS: 5, ISOLA_AUTHOR_MIB: '1' }).pluginQuota).toEqual({
      ...shipped,
      maxVersions: 5,
      maxBytes: 1_048_576,
    })
  })

  it('X5, N5: a call gets explicit inputs only, the same names for every tool', async () => {
    const seen: string[][] = []
    const look = (name: string) =>
      toolEntry(name, async (_input, context) => (seen.push(Object.keys(context)), says('seen')))
    const model = createFakeModel([{ calls: [{ name: 'a' }, { name: 'b' }] }, { text: 'done' }])
    await createKernel(createKernelParts(model)).run(
      runInput({ toolset: toolsetOf([look('a'), look('b')]) }),
      runPorts(),
    )
    expect(seen).toHaveLength(2)
    for (const names of seen) {
      expect(names.toSorted((one, other) => one.localeCompare(other))).toEqual([
        'agent',
        'ancestry',
        'answers',
        'call',
        'depth',
        'emit',
        'idempotencyKey',
        'label',
        'lease',
        'options',
        'principal',
        'rootSession',
        'run',
        'session',
        'shared',
        'signal',
        'trace',
      ])
    }
  })

  it('Y1: without plugins there is one agent, the orchestrator, and it works with what the core has', async () => {
    const { directory, problems } = openAgents({
      plugins: [],
      prompts: createPromptStore(),
      sessions: createFakeGateway(),
      submitAs: submitAsTo(createFakeGateway()),
      clock: createFakeSources().clock,
      createToolset: (entries, options) =>
        createToolset(entries, { ...options, buildIndex: createSearchIndex }),
      withOutside: withOutsideTools,
      presence: createPresence,
      sha256,
      pinned: [],
      count: createTokenEstimator(),
    })
    expect(problems).toEqual([])
    expect(directory.list().map(({ name }) => name)).toEqual(['orchestrator'])
    const { spec, toolset } = (await directory.load('orchestrator', {}))!
    const model = createFakeModel([
      { calls: [{ name: 'isola__find', input: { queries: ['anything'] } }] },
      { text: 'There is nothing installed.' },
    ])
    const result = await createKernel(createKernelParts(model)).run(
      runInput({ agent: spec, toolset }),
      runPorts(),
    )
    expect(result).toMatchObject({
      state: 'completed',
      actions: [{ tool: 'isola__find', ok: true }],
    })
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ output: { tools: [] } })
  })
})
