import { describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const session = `ses_${'S'.repeat(22)}`
const record = (atMs: number, type: string, data: object, more: object = {}) => ({
  atMs,
  type,
  data,
  session,
  run: 'run_1',
  agent: 'orchestrator',
  principal: 'ann',
  ...more,
})

/** A server that gives these answers in turn, and then nothing new. */
function answering(...answers: readonly unknown[]) {
  const asked: URL[] = []
  const fetch = async (url: unknown) => {
    asked.push(new URL(String(url)))
    const answer = answers[asked.length - 1] ?? { records: [], last: 0 }
    if (answer instanceof Error) throw answer
    return Response.json(answer)
  }
  const queries = () => asked.map(({ searchParams }) => Object.fromEntries(searchParams))
  return { queries, fetch: fetch as typeof globalThis.fetch }
}

const finished = { tool: 'kv__set', ok: true, durationMs: 40 }
const called = { provider: 'p', model: 'm', inputTokens: 100, outputTokens: 10, costNanoUsd: 5e6 }

describe('isola audit list', () => {
  it('C7: shows the limits that an operator set for a run', async () => {
    const limits = JSON.stringify({ maxTurns: 40 })
    const data = { run: 'run_1', owner: 'ann', session, limits }
    const { fetch } = answering({ records: [record(1_000, 'limits_changed', data)], last: 1 })
    const { stdout } = await isola(['audit', 'list'], { env, fetch })
    expect(stdout).toContain(`run_1 of ann ${session} {"maxTurns":40}`)
  })

  it.each([
    ['tool_denied', '--type tool_finished shows it, and --type call_denied'],
    ['tool_started', undefined],
  ])('says of %s, of which there is no record, where else to look', async (type, hint) => {
    const { fetch } = answering({ records: [], last: 1 })
    const { stdout } = await isola(['audit', 'list', '--type', type], { env, fetch })
    expect(stdout).toContain('No records')
    if (hint) expect(stdout).toContain(hint)
    else expect(stdout).not.toContain('not a type')
  })

  it('C7: shows who did what, when and at what cost, a line each, the newest first', async () => {
    const records = [
      record(
        9_000,
        'call_decided',
        { tool: 'kv__set', decision: 'approve', owner: 'ann', session },
        {
          session: '',
          agent: '',
          principal: 'ops',
        },
      ),
      record(2_000, 'tool_finished', finished),
      record(1_000, 'model_called', called),
    ]
    const { fetch, queries } = answering({ records, next: '1000-7', last: 9 })
    const { code, stdout } = await isola(['audit', 'list', '--tail', '3'], { env, fetch })
    expect([code, queries()]).toEqual([0, [{ order: 'desc', limit: '3' }]])
    expect(stdout.split('\n')).toEqual([
      `1970-01-01T00:00:09Z  ops         deployment                  -              call_decided       kv__set approve of ann ${session}`,
      `1970-01-01T00:00:02Z  ann         ${session}  orchestrator   tool_finished      kv__set ok 0.0 s`,
      `1970-01-01T00:00:01Z  ann         ${session}  orchestrator   model_called       p/m 100+10 tokens $0.005000`,
      'More: --after 1000-7',
      '',
    ])
  })

  it('C7: says how far a yes went, and which rule was taken back', async () => {
    const yes = { tool: 'kv__set', owner: 'ann', session, decision: 'approve' }
    const rule = { rule: 'rul_1', owner: 'ann', tool: 'kv__set', agent: 'a', scope: 'rule' }
    const records = [
      record(3_000, 'approval_rule_revoked', rule),
      record(2_000, 'call_decided', { ...yes, scope: 'rule', rule: 'rul_1' }),
      record(1_000, 'pause_answered', { tool: 'kv__set', answer: 'approved', scope: 'once' }),
    ]
    const { fetch } = answering({ records, last: 3 })
    const { stdout } = await isola(['audit', 'list'], { env, fetch })
    expect(stdout).toContain('rul_1 for kv__set of ann\n')
    expect(stdout).toContain(`kv__set approve of ann ${session} and later (rule) rul_1\n`)
    expect(stdout).toContain('kv__set approved\n')
  })

  it('C7: shows an operator the words of the server, whole, without --json', async () => {
    const detail = `401 Incorrect API key provided. ${'Look it up. '.repeat(30)}End.`
    const data = { state: 'failed', turns: 1, code: 'model_auth', message: 'Refused.', detail }
    const { fetch } = answering({ records: [record(1_000, 'run_finished', data)], last: 1 })
    const { stdout } = await isola(['audit', 'list'], { env, fetch })
    expect(stdout).toContain(`failed 1 turn model_auth Refused. (${detail})\n`)
  })

  it('asks for what is looked for, since when', async () => {
    const { fetch, queries } = answering({ records: [], last: 0, sinceMs: 5_000 })
    const words = ['--principal', 'ann', '--type', 'tool_*', '--plugin', 'kv', '--agent', 'a']
    const when = ['--since', '1970-01-01T00:00:05Z', '--until', '1970-01-01T00:00:06Z']
    const { stdout } = await isola(['audit', 'list', ...words, ...when], { env, fetch })
    expect(queries()).toEqual([
      {
        principal: 'ann',
        type: 'tool_*',
        plugin: 'kv',
        agent: 'a',
        since: '5000',
        until: '6000',
        order: 'desc',
        limit: '100',
      },
    ])
    expect(stdout).toBe('No records since 1970-01-01T00:00:05Z (--since looks further back).\n')
  })

  it('prints events as JSON, one a line', async () => {
    const records = [record(2, 'tool_finished', finished), record(1, 'model_called', called)]
    const { fetch } = answering({ records, next: '1-1', last: 2 })
    const { stdout } = await isola(['audit', 'list', '--json'], { env, fetch })
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(records)
  })

  it('goes on with what arrives, each once, the newest last, over a broken connection, until it is told to stop', async () => {
    const of = (n: number) => record(n * 1_000, 'tool_started', { tool: `t${n}` })
    const { fetch, queries } = answering(
      { records: [of(2), of(1)], last: 20 },
      { records: [of(3)], last: 30 },
      new TypeError('fetch failed'),
      { records: [of(4)], next: 40, last: 40 },
      { records: [of(5)], last: 50 },
    )
    const stop = new AbortController()
    let rests = 0
    const sleep = async () => {
      if ((rests += 1) === 3) stop.abort()
    }
    const words = ['audit', 'list', '--follow', '--tail', '2', '--type', 'tool_*']
    const { code, stdout, stderr } = await isola(words, { env, fetch, sleep, signal: stop.signal })
    expect(code).toBe(0)
    expect(stdout.match(/t\d/g)).toEqual(['t1', 't2', 't3', 't4', 't5'])
    expect(stderr).toContain('No server answers')
    expect(queries().slice(1)).toEqual(
      ['20', '30', '30', '40'].map((after) => ({ type: 'tool_*', limit: '500', after })),
    )
  })

  it('follows no further than a fault of its own', async () => {
    const stop = new AbortController()
    let count = 0
    const fetch = (async () => {
      count += 1
      if (count === 5) stop.abort()
      return count === 1 ? Response.json({ records: [], last: 0 }) : undefined
    }) as unknown as typeof globalThis.fetch
    const words = ['audit', 'list', '--follow']
    const io = { env, fetch, sleep: async () => {}, signal: stop.signal }
    expect((await isola(words, io)).code).toBe(1)
    expect(count).toBe(2)
  })

  it.each([
    [['--since', 'yesterday'], '--since must be'],
    [['--tail', '501'], '--tail must be 1 to 500'],
    [['--follow', '--until', '1h'], '--follow shows what is new'],
  ])('refuses %j and says what to write', async (options, message) => {
    const { fetch, queries } = answering()
    const { code, stderr } = await isola(['audit', 'list', ...options], { env, fetch })
    expect([code, queries()]).toEqual([2, []])
    expect(stderr).toContain(message)
  })

  it('reads 2h as so long ago', async () => {
    const { fetch, queries } = answering()
    const before = Date.now()
    await isola(['audit', 'list', '--since', '2h'], { env, fetch })
    const since = Number(queries()[0]!['since'])
    expect(since).toBeGreaterThanOrEqual(before - 7_200_000)
    expect(since).toBeLessThanOrEqual(Date.now() - 7_200_000)
  })
})

describe('isola usage show', () => {
  const sum = {
    runs: 2,
    modelCalls: 3,
    toolCalls: 1,
    tokens: 120,
    inputTokens: 100,
    outputTokens: 20,
    platformUsd: 0.0003,
  }
  const report = { sinceMs: 0, untilMs: 86_400_000, total: { ...sum, costUsd: 0.5 } }

  it('C7: shows what was spent by whom, and the sum', async () => {
    const rows = [
      { ...sum, name: 'kv', costUsd: 0.5 },
      { ...sum, name: null, runs: 1, costUsd: 0 },
    ]
    const { fetch, queries } = answering({ ...report, by: 'plugin', rows })
    const words = ['usage', 'show', '--by', 'plugin', '--since', '1970-01-01', '--principal', 'ann']
    const { stdout } = await isola(words, { env, fetch })
    expect(queries()).toEqual([{ by: 'plugin', since: '0', principal: 'ann' }])
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['1970-01-01T00:00:00Z to 1970-01-02T00:00:00Z'],
      ['plugin', 'runs', 'model calls', 'tool calls', 'tokens', 'in', 'out', 'cost', 'platform'],
      ['kv', '2', '3', '1', '120', '100', '20', '$0.50', '$0.000300'],
      ['(no plugin)', '1', '3', '1', '120', '100', '20', '$0.00', '$0.000300'],
      ['total', '2', '3', '1', '120', '100', '20', '$0.50', '$0.000300'],
    ])
  })

  it('E9: shows the cost of the platform, by runs and outside of runs', async () => {
    const platform = { rowsWritten: 5, cpuMs: 3 }
    const { fetch } = answering({
      ...report,
      rows: [{ ...sum, name: 'ann', costUsd: 0, platformUsd: 1.25 }],
      total: { ...sum, costUsd: 0, platform, platformUsd: 1.25 },
      deployment: { platform: { wakes: 2 }, platformUsd: 0.5 },
    })
    const { stdout } = await isola(['usage', 'show', '--by', 'principal'], { env, fetch })
    expect(stdout).toContain('platform, runs: $1.25 (rowsWritten 5, cpuMs 3; cpuMs is an estimate)')
    expect(stdout).toContain('platform, the deployment itself: $0.50 (wakes 2;')
  })

  it('says of each session whose it is', async () => {
    const rows = [{ ...sum, name: session, principal: 'ann', agent: 'a', costUsd: 0 }]
    const { fetch } = answering({ ...report, by: 'session', rows })
    const { stdout } = await isola(['usage', 'show', '--by', 'session'], { env, fetch })
    expect(stdout).toMatch(new RegExp(`${session}  ann +a +2 `))
  })

  it('of a day without a limit says where what was spent is told', async () => {
    const nothing = { tokens: null, costUsd: null }
    const zero = { tokens: 0, costUsd: 0 }
    const { fetch } = answering({
      principal: 'ann',
      day: '2026-09-21',
      limits: nothing,
      settled: zero,
      reserved: zero,
      openRuns: 0,
    })
    const { stdout } = await isola(['usage', 'show', '--principal', 'ann'], { env, fetch })
    expect(stdout).toContain('isola usage show --by principal')
  })

  it('C7: says in one command who spent what on what yesterday, the platform included', async () => {
    const about = { principal: 'ann', agent: 'orchestrator' }
    const rows = [
      { ...sum, ...about, name: 'openai/gpt-5', costUsd: 0.5, platformUsd: 0 },
      { ...sum, ...about, name: null, costUsd: 0, tokens: 0, modelCalls: 0 },
    ]
    const { fetch, queries } = answering({ ...report, by: 'spending', rows })
    const { stdout } = await isola(['usage', 'show', '--day', 'yesterday'], { env, fetch })
    const [query] = queries()
    expect(query).toMatchObject({ by: 'spending' })
    const [since, until] = [Number(query?.['since']), Number(query?.['until'])]
    expect([since % 86_400_000, until - since]).toEqual([0, 86_400_000])
    expect(stdout).toMatch(/ann +orchestrator +openai\/gpt-5 +2 .*\$0\.50 +\$0\.00/)
    expect(stdout).toMatch(/ann +orchestrator +\(tools, platform\) .*\$0\.000300/)
  })

  it('refuses a day and a time beside it', async () => {
    const { fetch } = answering()
    const words = ['usage', 'show', '--day', 'today', '--since', '1d']
    const { code, stderr } = await isola(words, { env, fetch })
    expect(code).toBe(2)
    expect(stderr).toContain('leave out --since')
  })

  it('refuses what it cannot be added up by, as wrong usage', async () => {
    const { fetch, queries } = answering({})
    const { code, stderr } = await isola(['usage', 'show', '--by', 'moon'], { env, fetch })
    expect([code, queries()]).toEqual([2, []])
    expect(stderr).toContain('not moon')
  })
})
