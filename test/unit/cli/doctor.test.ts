import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  startModelServer,
  type ModelServer,
  type ModelServerOptions,
} from '../../fakes/model-server.mjs'
import type { Finding } from '../../../scripts/start/finding.mjs'
import { checkModel } from '../../../scripts/start/check-model.mjs'
import { checkDatabase } from '../../../cli/doctor/deployment.ts'
import { checkServer, readHealth } from '../../../cli/doctor/server.ts'
import { checkSettings, checkVariables, weakness } from '../../../cli/doctor/variables.ts'
import { bindingsIn, checkConfig, checkWorker } from '../../../cli/doctor/worker.ts'

const bad = (findings: readonly Finding[]) =>
  findings.filter(({ state }) => state !== 'ok').map(({ state, what }) => `${state}: ${what}`)
const states = (findings: readonly Finding[]) => findings.map(({ state }) => state)

describe('doctor: the local database', () => {
  it('of a server in another folder is not missing, and is not made here', async () => {
    const state = join(tmpdir(), `isola-none-${process.pid}`)
    const env = { ISOLA_STATE: state, ISOLA_KEY: 'isk_test' }
    const [there] = await checkDatabase({ env, fetch: async () => new Response('ok') })
    expect(there?.what).toContain(`its database is not in ${state}`)
    expect(there).toMatchObject({ state: 'warn', fix: expect.stringContaining('ISOLA_STATE=') })
    expect(there?.repair).toBeUndefined()
    const fetch = async () => Promise.reject(new TypeError('fetch failed'))
    const [none] = await checkDatabase({ env, fetch })
    expect(none?.what).toBe('There is no local database yet.')
  })
})

describe('doctor: .dev.vars', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'isola-doctor-'))
    path = join(folder, '.dev.vars')
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const write = (text: string) => writeFileSync(path, text, { mode: 0o600 })
  const repair = (findings: readonly Finding[]) =>
    findings.find((found) => found.repair)?.repair?.()

  it('fails without the file, and --fix makes it, for its owner only', () => {
    const found = checkVariables({ path })
    expect(bad(found)).toEqual([
      'fail: There is no .dev.vars, which holds the keys of the local server.',
    ])
    repair(found)
    expect(bad(checkVariables({ path }))).toEqual([])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('I26: fails for a missing key, and --fix adds it without touching what is there', () => {
    write('ISOLA_OPERATOR_KEY=isk_of_mine_since_long_ago\n# mine\nISOLA_ENV=development\n')
    const found = checkVariables({ path })
    expect(bad(found)).toEqual(['fail: ISOLA_MASTER_KEY is missing in .dev.vars.'])
    repair(found)
    expect(readFileSync(path, 'utf8')).toMatch(
      /^ISOLA_OPERATOR_KEY=isk_of_mine_since_long_ago\n# mine\n/,
    )
    expect(bad(checkVariables({ path }))).toEqual([])
  })

  it('fails for a placeholder, and --fix does not replace it', () => {
    write('ISOLA_OPERATOR_KEY=change-me\nISOLA_MASTER_KEY=c2hvcnQ=\nISOLA_ENV=development\n')
    const found = checkVariables({ path })
    expect(states(found)).toEqual(['fail', 'fail'])
    expect(found.every((finding) => finding.repair === undefined)).toBe(true)
  })

  it.each([
    'change-me',
    'your-key-here',
    '<key>',
    '…',
    'xxxxxxxxxxxxxxxxxxxxxxxx',
    'password1',
    'short',
  ])('takes %s for no key', (value) => expect(weakness('ISOLA_OPERATOR_KEY', value)).toBeDefined())

  it('warns when others can read it, and when it is not for development', () => {
    write('ISOLA_OPERATOR_KEY=isk_of_mine_since_long_ago\nISOLA_ENV=production\n')
    repair(checkVariables({ path }))
    chmodSync(path, 0o644)
    expect(bad(checkVariables({ path }))).toEqual([
      'warn: ISOLA_ENV is production: no offline model, no requests to this machine.',
      'warn: Others on this machine can read .dev.vars.',
    ])
  })
})

describe('doctor: settings', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'isola-doctor-'))
    path = join(folder, '.dev.vars')
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const check = (text: string, env: Record<string, string> = {}) => {
    writeFileSync(path, text)
    return checkSettings({ path, env })
  }
  const keys = 'ISOLA_OPERATOR_KEY=isk_of_mine_since_long_ago\n# mine\n\n'

  it.each([
    ['ISOLA_DAILY_TOKENS=abc', 'ISOLA_DAILY_TOKENS: must be a whole number'],
    ['ISOLA_KEEP_AUDIT_DAYS=0', 'ISOLA_KEEP_AUDIT_DAYS: must be 1 to 9999 days, or forever'],
    ['OPENAI_BASE_URL=localhost:11434', 'OPENAI_BASE_URL'],
    ['ISOLA_PROVIDERS=[{"id":"x"}]', 'ISOLA_PROVIDERS'],
  ])('fails for %s, which the Worker would refuse', async (line, what) => {
    expect(bad(await check(keys + line)).join()).toMatch(
      `fail: The Worker refuses every request: ${what}`,
    )
  })

  it('fails for what the shell sets instead', async () => {
    const env = { OPENAI_BASE_URL: 'nowhere' }
    expect(states(await check(keys, env))).toEqual(['fail'])
  })

  it('is content with what the Worker takes', async () => {
    const providers =
      'ISOLA_PROVIDERS=[{"id":"backup","base_url":"https://models.example/v1","api_key_secret_name":"OPENAI_BACKUP","models":[{"name":"m"}]}]'
    const lines = ['ISOLA_DAILY_TOKENS=5', 'export ISOLA_KEEP_DAYS="30"', 'MY_KEY=x', providers]
    expect(bad(await check(`${keys}${lines.join('\n')}\nOPENAI_BACKUP=sk\n`))).toEqual([])
  })

  it('warns of lines that set nothing, and does not repeat them', async () => {
    const found = await check(`${keys}isk_secret_alone\nISOLA_DALIY_TOKENS=5\n`)
    expect(bad(found)).toEqual([
      'warn: Line 4 of .dev.vars is no NAME=value: it sets nothing.',
      'warn: ISOLA_DALIY_TOKENS in .dev.vars is no setting: nothing reads it. Did you mean ISOLA_DAILY_TOKENS?',
    ])
    expect(JSON.stringify(found)).not.toContain('isk_secret')
  })
})

describe('doctor: a .dev.vars that cannot be read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isola-doctor-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('is named with what to do, once, and --fix leaves it alone', async () => {
    const found = [
      ...checkVariables({ path: folder }),
      ...(await checkSettings({ path: folder, env: {} })),
    ]
    expect(bad(found)).toEqual([
      expect.stringMatching(
        /^fail: isola-doctor-\w+ is a folder: move it away, and `npm start` makes the file\.$/,
      ),
    ])
    expect(found[0]?.repair).toBeUndefined()
  })
})

describe('doctor: wrangler.toml', () => {
  const code = {
    composition:
      'const a = env.DB; const b = env.SESSION; if (env.AI) {} env.LOADER ?? 1; env.ISOLA_ENV',
    index: 'export class Session extends X {}',
  }
  const config = {
    compatibility_date: '2026-08-01',
    compatibility_flags: ['nodejs_compat', 'enable_request_signal'],
    durable_objects: { bindings: [{ name: 'SESSION', class_name: 'Session' }] },
    d1_databases: [{ binding: 'DB' }],
    ai: { binding: 'AI' },
    migrations: [{ tag: 'v1', new_sqlite_classes: ['Session'] }],
  }

  it('holds the repository to it', async () => {
    expect(bad(await checkWorker())).toEqual([])
  })

  it('reads from the code what must be bound', () => {
    expect(bindingsIn(code.composition)).toEqual(['DB', 'SESSION', 'AI'])
    expect(bad(checkConfig(config, code))).toEqual([])
  })

  it.each([
    [{ d1_databases: [] }, 'does not bind DB'],
    [
      { durable_objects: { bindings: [{ name: 'SESSION', class_name: 'Gone' }] } },
      'does not export',
    ],
    [{ migrations: [] }, 'without a migration'],
    [{ compatibility_date: '2026-04-20' }, '2026-04-21 or later'],
    [{ compatibility_date: undefined }, '2026-04-21 or later'],
    [{ compatibility_flags: ['nodejs_compat'] }, 'enable_request_signal'],
  ])('fails for %j', (change, what) => {
    expect(bad(checkConfig({ ...config, ...change } as never, code)).join()).toContain(what)
  })
})

describe('doctor: the server', () => {
  const health = {
    status: 'ok',
    version: '1.0.0',
    database: 'ok',
    migrations: { state: 'ready' },
    plugins: [],
    models: { default: 'openai/x' },
    incidents: { counts: {} },
  }

  it('I12: passes on how it is: version, database, migrations, plugins, model, incidents', () => {
    expect(bad(readHealth(health as never, '1.0.0'))).toEqual([])
    const seen = { count: 1, firstAtMs: 1_000, lastAtMs: 9_000 }
    const newest = [
      {
        ...seen,
        id: 'run_given_up:ses_1',
        kind: 'run_given_up',
        session: 'ses_1',
        run: 'run_1',
        message: 'It was interrupted.',
        count: 3,
      },
      {
        ...seen,
        id: 'retention_failed',
        kind: 'retention_failed',
        session: '',
        message: 'The database was away.',
      },
    ]
    const ill = {
      version: '0.9.0',
      database: 'unreachable',
      migrations: { state: 'not_migrated', message: 'migrate' },
      plugins: [{ plugin: 'kv', code: 'plugin_invalid', message: 'broken' }],
      models: { default: null },
      incidents: { counts: { run_given_up: 3, retention_failed: 1 }, newest },
    }
    expect(bad(readHealth(ill as never, '1.0.0'))).toEqual([
      'warn: Version 0.9.0 answers, this is 1.0.0.',
      'fail: Its database does not answer.',
      'fail: Its database is not migrated.',
      'fail: The plugin kv is off: broken (plugin_invalid)',
      'fail: It has no model.',
      'warn: a run was given up in ses_1 run_1, 3 times from 1970-01-01T00:00:01Z to 1970-01-01T00:00:09Z: It was interrupted.',
      'warn: old records were not removed, at 1970-01-01T00:00:09Z: The database was away.',
      'warn: 2 older incidents are behind these.',
    ])
  })

  it('N12: says how each incident is cleared, and of a run that was given up how it goes on', () => {
    const one = { kind: 'run_given_up', session: 's', run: 'run_1', message: 'm', count: 1 }
    const incidents = { counts: { run_given_up: 1 }, newest: [{ ...one, id: 'run_given_up:s' }] }
    const found = readHealth({ ...health, incidents } as never, '1.0.0')
    expect(found.find(({ check }) => check === 'incidents')?.fix).toBe(
      'isola run retry run_1, or drop it; then isola doctor --clear run_given_up:s',
    )
  })

  const down = async () => {
    throw new TypeError('fetch failed')
  }
  it('warns when the local one is not started, fails when one that was named does not answer', async () => {
    const env = { ISOLA_KEY: 'k' }
    expect(states(await checkServer({ env, fetch: down }))).toEqual(['warn'])
    const named = { ...env, ISOLA_URL: 'https://isola.example' }
    expect(states(await checkServer({ env: named, fetch: down }))).toEqual(['fail'])
  })

  it('fails for a key that is refused', async () => {
    const fetch = async () => Response.json({ error: { message: 'wrong key' } }, { status: 401 })
    const [found] = await checkServer({ env: { ISOLA_KEY: 'k' }, fetch })
    expect(found).toMatchObject({
      state: 'fail',
      what: 'wrong key',
      fix: expect.stringContaining('ISOLA_KEY'),
    })
  })
})

describe('doctor: the model', () => {
  const vars = { OPENAI_BASE_URL: 'http://user:secret@localhost:1/v1', ISOLA_MODEL: 'm' }
  const check = (answer: () => Promise<Response>, more: Record<string, string> = {}) =>
    checkModel({ env: {}, vars: { ...vars, ...more }, fetch: answer })

  it('knows the offline model', async () => {
    expect(await checkModel({ env: {}, vars: {} })).toMatchObject([
      { state: 'ok', what: expect.stringContaining('offline') },
    ])
  })

  it.each([
    ['lists the model', async () => Response.json({ data: [{ id: 'm' }] }), 'ok'],
    ['lists others only', async () => Response.json({ data: [{ id: 'n' }] }), 'warn'],
    ['is nothing of that kind', async () => new Response('', { status: 404 }), 'fail'],
    ['refuses the key', async () => new Response('', { status: 401 }), 'fail'],
    ['is not there', async () => Promise.reject(new TypeError('fetch failed')), 'fail'],
  ])('the model check with a server that %s', async (_, answer, state) => {
    const found = await check(answer)
    expect(states(found)).toEqual([state])
    expect(JSON.stringify(found)).not.toContain('secret')
  })

  describe('that is tried', () => {
    const open = async (options: ModelServerOptions = {}) =>
      startModelServer({ script: () => ({ text: 'yes' }), ...options })
    const tryOn = async (
      server: ModelServer,
      vars: Record<string, string>,
    ): Promise<readonly string[]> => {
      const found = await checkModel({
        env: {},
        vars: { OPENAI_BASE_URL: server.url, ...vars },
        // A machine that is busy is no server that does not answer.
        fetch: ((url: URL, init?: RequestInit) =>
          fetch(url, { ...init, signal: null })) as typeof fetch,
      })
      await server.close()
      return found.map(({ state, what }) => `${state}: ${what.replace(server.url, '<url>')}`)
    }

    it('answers and has each model of the list, tags and folders aside', async () => {
      const server = await open({ models: ['llama3.2:latest', 'models/gemini-2.5-flash'] })
      const ISOLA_MODEL = 'llama3.2, openai/gemini-2.5-flash, offline'
      expect(await tryOn(server, { ISOLA_MODEL })).toEqual([
        'ok: <url> answers and has llama3.2, gemini-2.5-flash.',
      ])
      expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'GET /v1/models',
      ])
    })

    it('warns of the default model where no model is configured', async () => {
      expect(await tryOn(await open({ models: ['llama3.2'] }), {})).toEqual([
        'warn: <url> does not list gpt-4o-mini.',
      ])
    })

    it('is asked for one token where it has no list', async () => {
      const server = await open({ models: ['m'], onlyModels: true })
      const noList: typeof fetch = async (input, init) =>
        String(input).endsWith('/models') ? new Response('', { status: 404 }) : fetch(input, init)
      const check = (ISOLA_MODEL: string) =>
        checkModel({ env: {}, vars: { OPENAI_BASE_URL: server.url, ISOLA_MODEL }, fetch: noList })
      expect(await check('m')).toMatchObject([{ state: 'ok' }])
      expect(server.requests[0]?.body).toMatchObject({ model: 'm', max_tokens: 1 })
      expect(await check('other')).toMatchObject([
        { state: 'fail', what: expect.stringContaining('does not have other (404)') },
      ])
      await server.close()
    })

    it.each([
      [400, { error: { message: 'z is not a valid model ID' } }, 'fail'],
      [400, { error: { message: 'Invalid model name passed in model=z' } }, 'fail'],
      [400, { error: { code: 'model_not_found', message: 'No.' } }, 'fail'],
      [422, { error: { message: 'There is no model z.', code: 'DeploymentNotFound' } }, 'fail'],
      [400, { error: { message: "Unsupported parameter: 'max_tokens'" } }, 'ok'],
      [422, { detail: [{ msg: 'max_tokens must be 16 or more' }] }, 'ok'],
    ])('answers one token with %i %j: %s', async (status, body, state) => {
      const answer: typeof fetch = async (input) =>
        String(input).endsWith('/models')
          ? new Response('', { status: 404 })
          : Response.json(body, { status })
      const vars = { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1', ISOLA_MODEL: 'z' }
      const found = await checkModel({ env: {}, vars, fetch: answer })
      expect(states(found)).toEqual([state])
    })

    it('is each server of ISOLA_PROVIDERS, with its own key', async () => {
      const first = await open({ models: ['a'] })
      const second = await open({ models: ['b'] })
      const ISOLA_PROVIDERS = JSON.stringify([
        { id: 'first', base_url: first.url, api_key_secret_name: 'FIRST_KEY' },
        { id: 'second', base_url: second.url, models: [{ name: 'gone' }] },
      ])
      const vars = { ISOLA_PROVIDERS, ISOLA_MODEL: 'first/a,gone', FIRST_KEY: 'sk-first' }
      const found = await checkModel({ env: {}, vars })
      expect(states(found)).toEqual(['ok', 'warn'])
      expect(first.requests[0]?.headers.authorization).toBe('Bearer sk-first')
      expect(second.requests[0]?.headers.authorization).toBeUndefined()
      await Promise.all([first.close(), second.close()])
    })
  })

  it('fails for a base URL that is none', async () => {
    const found = await check(async () => new Response(), { OPENAI_BASE_URL: 'localhost:11434' })
    expect(bad(found)).toEqual(['fail: OPENAI_BASE_URL is not an http or https URL.'])
  })
})
