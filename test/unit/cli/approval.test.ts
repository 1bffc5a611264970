import { describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const pause = {
  call: 'call_9',
  tool: 'kv__set',
  input: { key: 'a\u001b[2J' },
  argsHash: 'h1',
  kind: 'approval',
  sinceMs: 0,
}
const treeOf = (waits: object) => ({
  id: 'ses_1',
  runs: [{ id: 'run_1', state: 'parked', pauses: [{ ...pause, kind: 'session' }] }],
  children: [
    { id: 'ses_2', runs: [{ id: 'run_2', state: 'parked', pauses: [waits] }], children: [] },
  ],
})

/** A server with one parked session of ada's, whose sub-agent waits. */
function fakeServer(waits: object = pause, inbox: 'none' | readonly object[] = 'none') {
  const asked: { readonly path: string; readonly body?: unknown }[] = []
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const { pathname, search } = new URL(String(url))
    const body: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    asked.push({ path: pathname + search, ...(body !== undefined && { body }) })
    if (pathname === '/api/operator/approvals')
      return inbox === 'none'
        ? Response.json({ error: { code: 'forbidden', message: 'No.' } }, { status: 403 })
        : Response.json({ approvals: inbox, next: '5-apr_9' })
    if (pathname === '/api/sessions')
      return Response.json({ sessions: [{ id: 'ses_1', principal: 'ada' }] })
    return Response.json(pathname.endsWith('/decisions') ? { id: 'run_2' } : treeOf(waits))
  }
  return { asked, fetch: fetch as typeof globalThis.fetch }
}
const decided = (asked: ReturnType<typeof fakeServer>['asked']) =>
  asked.filter(({ path }) => path.endsWith('/decisions'))

/** A call of the inbox, with what its session has of it. */
const entry = {
  id: 'apr_1',
  state: 'open',
  tool: 'kv__set',
  principal: 'ada',
  agent: 'orchestrator',
  session: 'ses_1',
  run: 'run_1',
  call: 'call_9',
  label: { integrity: 'user', confidentiality: 'public', sources: [] },
  approver: 'operator',
  reason: 'run',
  rule: '',
  argsHash: 'h1',
  shape: 's1',
  atMs: 0,
  pause,
}

describe('isola approval', () => {
  it('lists waiting calls in the sessions of all principals, of sub-agents too, with their owners', async () => {
    const { asked, fetch } = fakeServer()
    const { code, stdout } = await isola(['approval', 'list', '--all'], { env, fetch })
    expect(code).toBe(0)
    expect(asked.map(({ path }) => path)).toContain(
      '/api/sessions?state=parked&limit=100&principal=*',
    )
    expect(stdout).toMatch(/^run_2 +approval +kv__set +\{"key":"a.*\} +ada/m)
    expect(stdout).not.toContain('\u001b')
  })

  it.each(['list', 'inbox'])(
    '%s: has all that its caller may decide, each call once',
    async (verb) => {
      const approval = { id: 'apr_1', approver: 'operator', asker: { agent: 'writer' } }
      const others = { ...entry, id: 'apr_2', principal: 'bob', tool: 'mail__send' }
      const { asked, fetch } = fakeServer({ ...pause, approval }, [{ ...entry }, others])
      const { code, stdout } = await isola(['approval', verb], { env, fetch })
      expect(code).toBe(0)
      expect(asked.map(({ path }) => path)).toEqual([
        '/api/operator/approvals',
        '/api/sessions?state=parked&limit=100',
        '/api/sessions/ses_1',
      ])
      const [, ...rows] = stdout.trim().split('\n')
      expect(rows).toEqual([
        expect.stringMatching(/^apr_1 +approval +kv__set +\{"key":"a.*\} +ada +writer +operator/),
        expect.stringMatching(/^apr_2 +approval +mail__send +bob +orchestrator +operator/),
        'There may be more: --after 5-apr_9',
      ])
      const { stdout: json } = await isola(['approval', verb, '--json'], { env, fetch })
      expect(JSON.parse(json)).toMatchObject({
        approvals: [{ id: 'apr_1' }, { id: 'apr_2' }],
        waiting: [{ session: 'ses_2', run: 'run_2', principal: 'ada', pause: { call: 'call_9' } }],
        next: '5-apr_9',
      })
    },
  )

  it('lists what waits in one’s own sessions: with --mine, and where its caller has no inbox', async () => {
    for (const argv of [['--mine'], []]) {
      const { asked, fetch } = fakeServer(pause, argv.length > 0 ? [entry] : 'none')
      const { code, stdout } = await isola(['approval', 'list', ...argv], { env, fetch })
      expect(code).toBe(0)
      expect(stdout.trim().split('\n')).toHaveLength(2)
      expect(stdout).toMatch(/^run_2 +approval/m)
      expect(asked.map(({ path }) => path)).toContain('/api/sessions?state=parked&limit=100')
    }
  })

  it('narrows the calls of all sessions, and looks into no session for that', async () => {
    const { asked, fetch } = fakeServer(pause, [{ ...entry, state: 'denied' }])
    const argv = ['approval', 'list', '--state', 'denied', '--tool', 'kv__set']
    const { stdout } = await isola(argv, { env, fetch })
    expect(asked.map(({ path }) => path)).toEqual([
      '/api/operator/approvals?state=denied&tool=kv__set',
    ])
    expect(stdout).toMatch(/apr_1 +denied +kv__set/)
    expect((await isola([...argv, '--mine'], { env, fetch })).code).toBe(2)
    // A caller without an inbox is told so, not that nothing waits.
    expect((await isola(argv, { env, fetch: fakeServer().fetch })).code).toBe(1)
  })

  it('approves in the session where the call waits, by the arguments that were looked at', async () => {
    const { asked, fetch } = fakeServer()
    const argv = ['approval', 'approve', 'ses_1', 'call_9', '--hash', 'h1']
    const { code, stdout } = await isola(argv, { env, fetch })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'call_9 is approved; run_2 goes on.\n' })
    expect(decided(asked)).toEqual([
      {
        path: '/api/sessions/ses_2/runs/run_2/decisions',
        body: { call: 'call_9', decision: 'approve', argsHash: 'h1' },
      },
    ])
  })

  it.each([
    ['other arguments', ['approve', 'ses_1', 'call_9', '--hash', 'h0'], 1],
    ['a call that does not wait', ['approve', 'ses_1', 'call_1', '--hash', 'h1'], 1],
    ['nothing looked at, and no terminal', ['approve', 'ses_1', 'call_9'], 2],
  ])('approves nothing for %s', async (_what, argv, code) => {
    const { asked, fetch } = fakeServer()
    expect((await isola(['approval', ...argv], { env, fetch })).code).toBe(code)
    expect(decided(asked)).toEqual([])
  })

  it.each([
    ['by its session', ['ses_1', 'call_9']],
    ['by its session and hash', ['ses_1', 'call_9', '--hash', 'h1']],
    ['by its session, with --yes', ['ses_1', 'call_9', '--yes']],
  ])('--dry-run decides nothing of a call named %s', async (_how, named) => {
    const { asked, fetch } = fakeServer()
    const argv = ['approval', 'approve', ...named, '--dry-run']
    const { code, stdout } = await isola(argv, { env, fetch })
    expect(code).toBe(0)
    expect(stdout).toContain('Nothing was decided.')
    expect(decided(asked)).toEqual([])
  })

  it.each([
    [['--for', 'session'], { also: 'session' }],
    [['--for', 'always', '--free', 'key'], { also: 'always', free: ['key'] }],
    [['--for', 'always', '--days', '7'], { also: 'always', days: 7 }],
    [['--for', 'once'], {}],
  ])('approve <session> <call> --hash heeds %j', async (more, also) => {
    const { asked, fetch } = fakeServer()
    const argv = ['approval', 'approve', 'ses_1', 'call_9', '--hash', 'h1', ...more]
    expect((await isola(argv, { env, fetch })).code).toBe(0)
    expect(decided(asked)[0]?.body).toEqual({
      call: 'call_9',
      decision: 'approve',
      argsHash: 'h1',
      ...also,
    })
  })

  it.each([[['--for', 'ever']], [['--free', 'key']], [['--days', '7']], [['--cost', '1']]])(
    'approve <session> <call> --hash refuses %j, and decides nothing',
    async (more) => {
      const { asked, fetch } = fakeServer()
      const argv = ['approval', 'approve', 'ses_1', 'call_9', '--hash', 'h1', ...more]
      expect((await isola(argv, { env, fetch })).code).toBe(2)
      expect(decided(asked)).toEqual([])
    },
  )

  it('denies with what the model is to read', async () => {
    const { asked, fetch } = fakeServer()
    await isola(['approval', 'deny', 'ses_1', 'call_9', '--message', 'not today'], { env, fetch })
    expect(decided(asked)[0]?.body).toEqual({
      call: 'call_9',
      decision: 'deny',
      message: 'not today',
    })
  })

  it('E1: says that a run ends whose limit stays', async () => {
    const reached = { code: 'lease_turns', limit: 'maxTurns', message: 'Reached.' }
    const { fetch } = fakeServer({ ...pause, call: 'limit_2_1', kind: 'budget', tool: '', reached })
    const { stdout } = await isola(['approval', 'deny', 'ses_1', 'limit_2_1'], { env, fetch })
    expect(stdout).toContain('The limit stays; run_2 ends with what it has so far.')
    expect(stdout).not.toContain('goes on')
  })
})

describe('the arguments of a call that waits', () => {
  const input = {
    to: 'b\u043eb@bank.example',
    'am\u043eunt': 9,
    note: 'Привет, see Δ and 口座API',
    'x\u200b': '\uff42ank',
  }
  const waits = { ...pause, input }

  it('T21: have each letter named that passes for another one, and no word of another script', async () => {
    const server = (async () =>
      Response.json({ ...entry, pause: waits })) as typeof globalThis.fetch
    const { stdout } = await isola(['approval', 'show', 'apr_1'], { env, fetch: server })
    const [line] = stdout.split('\n').filter((one) => one.startsWith('letters that pass'))
    expect(line).toBe(
      'letters that pass for others: b\\u{43e}b@bank.example, am\\u{43e}unt, \\u{ff42}ank',
    )
    const plain = (async () => Response.json(entry)) as typeof globalThis.fetch
    const shown = await isola(['approval', 'show', 'apr_1'], { env, fetch: plain })
    expect(shown.stdout).not.toContain('letters that pass')
  })

  it('says of one that was denied what the model was told', async () => {
    const told = {
      type: 'tool_finished',
      data: { call: 'call_9', error: { message: 'Not today.' } },
    }
    const line = `event: tool_finished\ndata: ${JSON.stringify({ seq: 1, run: 'run_1', ...told })}\n\n`
    const fetch = (async (url: unknown) =>
      String(url).includes('/events')
        ? new Response(line, { headers: { 'content-type': 'text/event-stream' } })
        : Response.json({ ...entry, state: 'denied' })) as typeof globalThis.fetch
    const { stdout } = await isola(['approval', 'show', 'apr_1'], { env, fetch })
    expect(stdout).toContain('The model was told: Not today.')
  })

  it('T21: hide nothing in the list either', async () => {
    const { fetch } = fakeServer({ ...pause, input: { to: 'a\u200b@\u202eb' } })
    const { stdout } = await isola(['approval', 'list', '--mine'], { env, fetch })
    expect(stdout).toContain('a\\u{200b}@\\u{202e}b')
  })
})

describe('isola approval allow', () => {
  it('E6: lets several run, each by the hash of what was shown of it', async () => {
    const bodies: unknown[] = []
    const fetch = (async (url: unknown, init: RequestInit = {}) => {
      const id = new URL(String(url)).pathname.split('/').at(-1)!
      if (init.method === 'POST') {
        bodies.push(JSON.parse(String(init.body)))
        const message = 'not those that were shown'
        const decided = [
          { id: 'apr_1', ok: true },
          { id: 'apr_2', ok: false, message },
        ]
        return Response.json({ decided })
      }
      return Response.json({ ...entry, id, argsHash: `hash of ${id}` })
    }) as typeof globalThis.fetch
    const argv = ['approval', 'allow', 'apr_1', 'apr_2', '--yes']
    const { code, stdout, stderr } = await isola(argv, { env, fetch })
    expect(bodies).toEqual([
      {
        approvals: [
          { id: 'apr_1', argsHash: 'hash of apr_1' },
          { id: 'apr_2', argsHash: 'hash of apr_2' },
        ],
        decision: 'approve',
      },
    ])
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: 'apr_1: allowed\n',
      stderr: 'apr_2: not those that were shown\n',
    })
  })

  it('E6: lets run what was shown, by the hash of its arguments', async () => {
    const asked: unknown[] = []
    const fetch = (async (url: unknown, init: RequestInit = {}) => {
      const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
      if (body) asked.push({ path: new URL(String(url)).pathname, body })
      return Response.json(body ? { id: 'run_1', decided: [] } : entry)
    }) as typeof globalThis.fetch
    const { code } = await isola(['approval', 'allow', 'apr_1', '--yes'], { env, fetch })
    expect(code).toBe(0)
    expect(asked).toEqual([
      {
        path: '/api/operator/approvals/apr_1',
        body: { decision: 'approve', argsHash: 'h1' },
      },
    ])
  })
})
