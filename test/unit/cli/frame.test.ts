import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { commands } from '../../../cli/commands.ts'
import type { Context } from '../../../cli/command.ts'
import { isola } from '../../fakes/terminal.ts'

const server = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const answering = (status: number, body: unknown) => {
  const asked: { url: string; init: RequestInit }[] = []
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    asked.push({ url: String(url), init })
    return Response.json(body, { status })
  }
  return { asked, fetch: fetch as typeof globalThis.fetch }
}

describe('the isola command', () => {
  it.each([
    [['sesion', 'show'], 'Did you mean session?'],
    [['session', 'shwo', 'x'], 'Did you mean show?'],
    [['session', 'show', 'x', '--jsn'], 'Did you mean --json?'],
    [['audit', 'list', '--sesion=x'], 'Did you mean --session?'],
    [['zzzzzz'], 'There are: chat, session'],
    [['session', 'show', 'x', 'toString'], 'one argument too many'],
    [['session', 'constructor', 'x'], 'There is no verb of session constructor'],
    [['session', 'show'], 'usage: isola session show <session>'],
    [['audit', 'list', '--trace'], 'argument missing'],
    [['mcp', 'add'], 'Give either --url with an <id>, or --file.'],
    [['--json', 'audit', 'list'], 'A command comes first'],
  ])('answers 2 and the way out to %j', async (argv, hint) => {
    const { code, stdout, stderr } = await isola(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(hint)
  })

  it('lists every command without one, and explains each with --help', async () => {
    const { code, stdout } = await isola(['--help'])
    expect(code).toBe(0)
    const usages = stdout.match(/^ {2}isola .*$/gm) ?? []
    expect(usages.length).toBeGreaterThan(8)
    for (const usage of usages) {
      const words = usage
        .trim()
        .split(' ')
        .slice(1)
        .filter((word) => /^[a-z]+$/.test(word))
      const help = await isola([...words, '--help'])
      expect(help).toMatchObject({ code: 0, stderr: '' })
      expect(help.stdout).toContain(`usage: ${usage.trim()}`)
    }
    expect((await isola([])).code).toBe(2)
    expect((await isola(['session'])).stdout).toContain('isola session delete')
  })

  it('takes the plural of a noun', async () => {
    const { asked, fetch } = answering(200, { runs: [] })
    expect(await isola(['runs', 'list', '--state', 'open'], { env: server, fetch })).toMatchObject({
      code: 0,
      stdout: 'No runs.\n',
    })
    expect(asked[0]?.url).toBe('https://isola.example/api/runs?state=open')
  })

  it('takes the plural of every noun, policies too', async () => {
    for (const { noun, plural = `${noun}s`, verbs } of commands) {
      if (verbs) expect((await isola([plural, '--help'])).stdout).toContain(`isola ${noun} `)
    }
    expect((await isola(['policies', 'show', '--help'])).code).toBe(0)
  })

  it('lists the agents that a key may name, without the models', async () => {
    const data = [
      { id: 'orchestrator', owned_by: 'isola' },
      { id: 'openai/gpt-4o-mini', owned_by: 'openai' },
    ]
    const { asked, fetch } = answering(200, { object: 'list', data, agents: [] })
    const { stdout } = await isola(['agents', 'list'], { env: server, fetch })
    expect(stdout).toBe('orchestrator\n')
    expect(asked[0]?.url).toBe('https://isola.example/v1/models')
  })

  it('lists the generations that rollback takes', async () => {
    const plugins = [{ id: 'kv', version: '1.0.0' }]
    const made = { number: 7, reason: 'enabled kv', madeBy: 'ada', madeAtMs: 0, plugins }
    const { fetch } = answering(200, { generations: [made] })
    const { stdout } = await isola(['plugin', 'history'], { env: server, fetch })
    expect(stdout).toMatch(/7 +1970-01-01T00:00:00Z +ada +enabled kv +kv 1\.0\.0/)
  })

  const destructive: readonly (readonly [readonly string[], string, unknown])[] = [
    [['agent', 'delete', 'notes'], 'DELETE', { id: 'notes', deleted: true }],
    [['session', 'delete', 'ses_1'], 'DELETE', { id: 'ses_1', deleted: true }],
    [['secret', 'remove', 'A'], 'DELETE', { name: 'A', removed: true }],
    [['trust', 'remove', 'ci'], 'DELETE', { name: 'ci' }],
    [['mcp', 'remove', 'srv'], 'DELETE', { generation: 1, notes: [] }],
    [['mcp', 'forget', 'ada'], 'DELETE', { principal: 'ada', servers: [] }],
    [['plugin', 'remove', 'kv'], 'DELETE', { generation: 1, notes: [] }],
    [['key', 'revoke', 'key_1'], 'POST', { id: 'key_1', principal: 'a', revokedAtMs: 1 }],
    [['login', 'revoke', 'grant_1'], 'POST', { id: 'grant_1', principal: 'a' }],
    [['run', 'drop', 'run_1'], 'POST', { run: 'run_1' }],
    [['schedule', 'remove', 'sch_1'], 'DELETE', { id: 'sch_1', deleted: true }],
    [['subscription', 'remove', 'sub_1'], 'DELETE', { id: 'sub_1', deleted: true }],
    [['approval', 'revoke', 'rule_1'], 'DELETE', { id: 'rule_1' }],
    [['skill', 'remove', 'kites'], 'DELETE', { name: 'kites', generation: 1, notes: [] }],
    [['skill', 'discard', 'drf_1'], 'DELETE', { id: 'drf_1', deleted: true }],
    [['memory', 'forget', 'mem_1'], 'DELETE', { forgotten: 1 }],
    [['knowledge', 'remove', '--all'], 'DELETE', { forgotten: 1 }],
    [
      ['erasure', 'start', 'ada'],
      'POST',
      { id: 'erased_1', principal: 'ada', state: 'running', pass: 1, erased: {}, problems: {} },
    ],
  ]
  it.each(destructive)(
    '%j asks before, and wants --yes without a terminal',
    async (words, method, body) => {
      const { asked, fetch } = answering(200, body)
      const io = { env: server, fetch }
      const piped = await isola(words, io)
      expect(piped).toMatchObject({ code: 2, stdout: '' })
      expect(piped.stderr).toContain('--yes is needed')
      const typing = (line: string) => Object.assign(Readable.from([line]), { isTTY: true })
      expect((await isola(words, { ...io, stdin: typing('no\n') })).code).toBe(1)
      expect(asked).toEqual([])
      expect((await isola(words, { ...io, stdin: typing('y\n') })).code).toBe(0)
      expect((await isola([...words, '-y'], io)).code).toBe(0)
      expect(asked.map(({ init }) => init.method)).toEqual([method, method])
    },
  )

  it('asks before each of them, and no other', () => {
    expect(destructive.map(([[noun, verb]]) => `${noun} ${verb}`)).toEqual(
      expect.arrayContaining(
        commands.flatMap(({ noun, verbs = {} }) =>
          Object.entries(verbs).flatMap(([name, verb]) => (verb.asks ? [`${noun} ${name}`] : [])),
        ),
      ),
    )
  })

  const tree = {
    id: 'ses_1',
    agent: 'orchestrator',
    principal: 'operator',
    createdAtMs: 1,
    runs: [{ id: 'run_1', state: 'running' }],
    usage: {},
    children: [],
  }
  const plugin = { id: 'kv', version: '1', tier: 'community', hash: 'ab', state: 'enabled' }
  const row = {
    ...plugin,
    lines: [{ text: 'reads' }],
    texts: [{ place: 'get', text: 'Gets.' }],
    isTold: false,
    missing: [],
    notes: [],
    versions: [],
    waiting: [],
  }
  it.each([
    [['session', 'delete', 'ses_1'], tree, 'Would be deleted:\nses_1'],
    [['session', 'cancel', 'ses_1'], tree, 'Would be cancelled:\nrun_1  running'],
    [['plugin', 'remove', 'kv'], row, 'Would be removed (what it keeps stays):\nkv 1'],
    [
      ['plugin', 'grant', 'kv'],
      row,
      'Would be allowed. kv 1 (community, ab) asks for:\n  reads\nIt tells models of itself:\n  get: Gets.',
    ],
    [['mcp', 'add', 'srv', '--url', 'https://mcp.example'], {}, 'srv would be added'],
    [['plugin', 'add', 'https://a.example/x.zip'], {}, 'Would be sent: https://a.example/x.zip'],
  ])('%j --dry-run says what would be done, and changes nothing', async (words, body, said) => {
    const { asked, fetch } = answering(200, body)
    const done = await isola([...words, '--dry-run'], { env: server, fetch })
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout).toContain(said)
    expect(asked.filter(({ init }) => init.method !== 'GET')).toEqual([])
  })

  it('prints JSON with --json, and for people without', async () => {
    const amount = { tokens: 5, costUsd: 0.5 }
    const body = {
      principal: 'operator',
      day: '2026-01-01',
      limits: { tokens: null, costUsd: null },
      settled: amount,
      reserved: amount,
      openRuns: 1,
    }
    const { fetch } = answering(200, body)
    const json = await isola(['usage', 'show', '--mine', '--json'], { env: server, fetch })
    expect(JSON.parse(json.stdout)).toEqual(body)
    const text = await isola(['usage', 'show', '--mine'], { env: server, fetch })
    expect(text.stdout).toContain('1 open run\n')
    expect(text.stdout).toMatch(/limit\s+no limit\s+no limit/)
  })

  it('C7: shows how agents, tools and models did, and refuses a time that is none', async () => {
    const latencyMs = { mean: 40, max: 60 }
    const agent = {
      agent: 'orchestrator',
      runs: 4,
      states: { completed: 3, failed: 1 },
      successRate: 0.75,
      turnsPerRun: 2.5,
      modelCalls: 10,
      inputTokens: 1_000,
      outputTokens: 100,
      costUsd: 0.5,
    }
    const tool = {
      tool: 'kv__get',
      calls: 2,
      failures: { tool_failed: 1 },
      errorRate: 0.5,
      latencyMs,
    }
    const { asked, fetch } = answering(200, { agents: [agent], tools: [tool], models: [] })
    const { stdout } = await isola(['metrics', 'show'], { env: server, fetch })
    expect(stdout).toMatch(/orchestrator\s+4\s+75\.0 %\s+2\.5\s+1000\s+100\s+\$0\.50/)
    expect(stdout).toMatch(/kv__get\s+2\s+50\.0 %\s+40 ms\s+60 ms\s+tool_failed 1/)
    expect(asked[0]?.url).toMatch(/metrics\?since=\d{13}&format=json$/)
    const wrong = await isola(['metrics', 'show', '--hours', '0'], { env: server, fetch })
    expect(wrong.code).toBe(2)
  })

  it('answers 1 with what the server says, and names the field', async () => {
    const { fetch } = answering(400, { error: { message: 'must be a number', param: 'limit' } })
    const { code, stderr } = await isola(['run', 'list', '--limit', 'x'], { env: server, fetch })
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'isola: must be a number (limit)\n' })
  })

  it('takes a command from a module, with its arguments, options, request and print', async () => {
    const { asked, fetch } = answering(200, { id: 'key_1' })
    const key = {
      noun: 'key',
      verbs: {
        add: {
          usage: 'isola key add <name> [--role <role>]',
          options: { role: { type: 'string' } },
          run: async ({
            args: [principal],
            values: { role },
            request,
            print,
            isJson,
          }: Context<{ readonly role?: 'user' }, [string]>) => {
            const body = { principal, ...(role && { role }) }
            const made = await request('POST /api/operator/keys', { body })
            print({ ...made, isJson }, `made ${made.id}`)
          },
        },
      },
    } as const
    const io = { env: server, fetch, modules: [key] }
    expect(await isola(['key', 'add', 'ci', '--role', 'user'], io)).toMatchObject({
      code: 0,
      stdout: 'made key_1\n',
    })
    expect(asked[0]?.init).toMatchObject({
      method: 'POST',
      body: '{"principal":"ci","role":"user"}',
    })
    expect((await isola(['key', 'add'], io)).code).toBe(2)
  })

  it('shows control characters of what others wrote as codes', async () => {
    const record = { atMs: 0, session: 's', run: 'r', agent: 'a', type: 'tool_log', data: {} }
    const { fetch } = answering(200, {
      records: [{ ...record, agent: 'a\u001b]0;owned\u0007\u202e' }],
    })
    const { stdout } = await isola(['audit', 'list'], { env: server, fetch })
    expect(stdout).toContain('a\\u{1b}]0;owned\\u{7}\\u{202e}')
  })
})

describe('which server gets the key', () => {
  const ask = (env: Record<string, string>) => {
    const { asked, fetch } = answering(200, { runs: [] })
    return isola(['run', 'list'], { env, fetch }).then((outcome) => ({ ...outcome, asked }))
  }

  it.each([
    [{ ISOLA_URL: 'https://isola.example' }, 'ISOLA_KEY is not set'],
    [{ ISOLA_KEY: '' }, 'ISOLA_KEY is set, and empty'],
    [{ ISOLA_URL: 'https://isola.example', ISOLA_KEY: ' ' }, 'ISOLA_KEY is set, and empty'],
    [{ ISOLA_URL: 'http://isola.example', ISOLA_KEY: 'k' }, 'must be https'],
    [{ ISOLA_URL: 'http://localhost.evil.example', ISOLA_KEY: 'k' }, 'must be https'],
    [{ ISOLA_URL: 'http://127.0.0.1.evil.example', ISOLA_KEY: 'k' }, 'must be https'],
    [{ ISOLA_URL: 'ftp://localhost', ISOLA_KEY: 'k' }, 'not an http or https URL'],
    [{ ISOLA_URL: 'nonsense', ISOLA_KEY: 'k' }, 'not an http or https URL'],
    [{ ISOLA_URL: 'https://isola.example/v1', ISOLA_KEY: 'k' }, 'without /v1'],
  ])('sends nothing for %j', async (env, message) => {
    const { code, stderr, asked } = await ask(env)
    expect({ code, asked }).toEqual({ code: 1, asked: [] })
    expect(stderr).toContain(message)
  })

  it('asks the server of ISOLA_URL with ISOLA_KEY, by default the local one', async () => {
    const { asked } = await ask(server)
    expect(asked[0]?.init.headers).toMatchObject({ authorization: 'Bearer isk_test' })
    expect((await ask({ ISOLA_KEY: 'k' })).asked[0]?.url).toMatch(/^http:\/\/localhost:8787\//)
    expect((await ask({ ISOLA_KEY: 'k', PORT: '9000' })).asked[0]?.url).toMatch(
      /^http:\/\/localhost:9000\//,
    )
  })

  it('follows no redirect with it', async () => {
    expect((await ask(server)).asked[0]?.init.redirect).toBe('manual')
  })

  it('says so when no server answers', async () => {
    const fetch = async () => {
      throw new TypeError('fetch failed')
    }
    const { code, stderr } = await isola(['run', 'list'], { env: { ISOLA_KEY: 'k' }, fetch })
    expect(code).toBe(1)
    expect(stderr).toContain(
      'No server answers at http://localhost:8787. Start it with `npm start`',
    )
  })
})

describe('options that npm kept for itself', () => {
  const run = (argv: readonly string[], env: Record<string, string>) => {
    const { asked, fetch } = answering(200, { plugins: [], runs: [] })
    const npm = { npm_lifecycle_event: 'isola', ...env }
    return isola(argv, { env: { ...server, ...npm }, fetch }).then((said) => ({ ...said, asked }))
  }

  it.each([
    [['deploy'], { npm_config_dry_run: 'true' }, 'npm run isola -- deploy --dry-run'],
    [['plugin', 'grant', 'x'], { npm_config_yes: 'true' }, '-- plugin grant x --yes'],
    [['run', 'list'], { npm_config_json: 'true' }, 'npm run isola -- run list --json'],
    // npm makes a word of the value.
    [['deploy', 'acme'], { npm_config_tenant: 'true' }, 'npm kept --tenant for itself'],
  ] as const)('runs nothing for %j with %j', async (argv, env, hint) => {
    const { code, stdout, stderr, asked } = await run(argv, env)
    expect({ code, stdout, asked }).toEqual({ code: 2, stdout: '', asked: [] })
    expect(stderr).toContain('Nothing was done')
    expect(stderr).toContain(hint)
  })

  it('is said of nothing else', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'isola-npmrc-'))
    const userconfig = join(folder, 'npmrc')
    writeFileSync(userconfig, 'json=true\n')
    try {
      const fine = [
        run(['run', 'list', '--json'], { npm_config_json: 'true' }),
        run(['run', 'list'], { npm_config_json: '' }),
        run(['run', 'list'], { npm_config_yes: 'true' }),
        run(['run', 'list'], { npm_config_json: 'true', NPM_CONFIG_JSON: 'true' }),
        run(['run', 'list'], { npm_config_json: 'true', npm_config_userconfig: userconfig }),
        run(['run', 'list'], { npm_config_json: 'true', npm_lifecycle_event: 'npx' }),
      ]
      for (const { code } of await Promise.all(fine)) expect(code).toBe(0)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
