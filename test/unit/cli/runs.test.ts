import { describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const session = `ses_${'S'.repeat(22)}`
const child = `ses_${'C'.repeat(22)}`
const run = `run_${'R'.repeat(22)}`
const below = `run_${'B'.repeat(22)}`

type Answers = Readonly<Record<string, unknown>>

/** A server that answers these routes, and 404 to the rest. */
function answering(answers: Answers) {
  const asked: { readonly path: string; readonly body?: unknown }[] = []
  const fetch = async (url: unknown, { method = 'GET', body }: RequestInit = {}) => {
    const { pathname, search } = new URL(String(url))
    const sent: unknown = typeof body === 'string' ? JSON.parse(body) : undefined
    asked.push({
      path: `${method} ${pathname}${search}`,
      ...(sent !== undefined && { body: sent }),
    })
    const answer = answers[`${method} ${pathname}`]
    if (answer instanceof Response) return answer
    return answer === undefined
      ? Response.json(
          { error: { code: 'request_not_found', message: 'No such thing.' } },
          { status: 404 },
        )
      : Response.json(answer)
  }
  return { asked, env, fetch: fetch as typeof globalThis.fetch }
}

const usage = { inputTokens: 10, outputTokens: 5 }
const ended = (state: string, more: object = {}) => ({
  id: run,
  session,
  agent: 'orchestrator',
  state,
  createdAtMs: 1_000,
  result: {
    state,
    result: '',
    costEstimateUsd: 0.0123,
    usage,
    steps: 2,
    startedAtMs: 1_000,
    finishedAtMs: 3_000,
    trace: 't1',
    ...more,
  },
})
const limitPause = (reached: object, more: object = {}) => ({
  call: 'limit_1_1',
  tool: '',
  kind: 'budget',
  input: {},
  argsHash: '',
  sinceMs: 1,
  reached: { code: 'lease_cost', ...reached },
  ...more,
})
const parked = (pauses: readonly object[], id = run, of = session) => ({
  id,
  session: of,
  agent: 'orchestrator',
  state: 'parked',
  createdAtMs: 1_000,
  pauses,
})
const treeOf = (runs: readonly object[], children: readonly object[] = []) => ({
  id: session,
  agent: 'orchestrator',
  principal: 'ada',
  createdAtMs: 1_000,
  runs,
  usage,
  children,
})
const started = { [`POST /api/sessions`]: { id: session, agent: 'orchestrator', runs: [] } }

describe('isola agent run and once, which do not complete', () => {
  it.each([
    [
      'failed',
      { error: { code: 'model_price_unknown', message: 'No price is known.' } },
      'model_price_unknown: No price is known.',
    ],
    [
      'failed',
      { error: { code: 'model_network', message: 'No answer.' }, result: 'Half an ans' },
      'model_network: No answer.',
    ],
    [
      'stopped',
      { error: { code: 'lease_cost', message: 'The limit is reached.' } },
      'lease_cost: The limit is reached.',
    ],
    ['cancelled', {}, 'The run is cancelled.'],
    [
      'failed',
      { error: { code: 'agent_failed', message: '\u001b[2Jкод 7' } },
      'agent_failed: \\u{1b}[2Jкод 7',
    ],
  ])(
    '%s: nothing is printed, the reason and the next command are said (%#)',
    async (state, more, why) => {
      const server = answering({
        ...started,
        [`POST /api/sessions/${session}/runs`]: ended(state, more),
      })
      const said = await isola(['agent', 'run', 'notes', 'go'], server)
      expect(said).toMatchObject({ code: 1, stdout: '' })
      expect(said.stderr).toContain(`${why}\n  isola run show ${run}\n`)
    },
  )

  it('prints the answer of one that completed, and nothing else', async () => {
    const view = ended('completed', { result: 'Done.' })
    const server = answering({ ...started, [`POST /api/sessions/${session}/runs`]: view })
    expect(await isola(['agent', 'run', 'notes', 'go'], server)).toEqual({
      code: 0,
      stdout: 'Done.\n',
      stderr: '',
    })
  })

  it.each([
    [
      {
        limit: 'maxCostNanoUsd',
        needed: 33_600_000,
        message: 'The limit of 0.03 US dollars is reached.',
      },
      `isola run raise ${run} --cost 0.0336`,
    ],
    [
      { limit: 'maxTokens', needed: 4_200, message: 'The limit of 4000 tokens is reached.' },
      `isola run raise ${run} --tokens 4200`,
    ],
    [
      { limit: 'maxPlatformNanoUsd', needed: 1_234, message: 'The limit is reached.' },
      `isola run raise ${run} --platform 0.000001234`,
    ],
    [
      { limit: 'maxTimeMs', needed: 90_000, message: 'Der Lauf braucht länger.' },
      `isola run raise ${run} --time 90000`,
    ],
    [
      { limit: 'maxToolCalls', needed: 9, message: 'The limit of 8 tool calls is reached.' },
      `isola run raise ${run} --calls 9`,
    ],
    [{ message: 'It made the same calls 5 times.' }, `isola approval allow ${run}`],
  ])(
    'C1: a run that waits at a limit says the whole reason and the finished command, and exits with 3 (%#)',
    async (reached, command) => {
      const view = parked([limitPause(reached)])
      const server = answering({
        ...started,
        [`POST /api/sessions/${session}/runs`]: view,
        [`GET /api/sessions/${session}`]: treeOf([view]),
      })
      const said = await isola(['agent', 'run', 'notes', 'go'], server)
      expect(said).toEqual({
        code: 3,
        stdout: '',
        stderr: `It waits: ${reached.message}\n  ${command}\n`,
      })
    },
  )

  it('a run whose sub-agent waits names the call of the sub-agent', async () => {
    const view = parked([{ ...limitPause({}), kind: 'session' }])
    const waits = {
      call: 'c1',
      tool: 'kv__set',
      kind: 'approval',
      input: { key: 'a' },
      argsHash: 'h',
      sinceMs: 1,
      approval: { id: 'apr_1', approver: 'owner', asker: { agent: 'writer' } },
    }
    const inner = { ...treeOf([parked([waits], below, child)]), id: child }
    const server = answering({
      ...started,
      [`POST /api/sessions/${session}/runs`]: view,
      [`GET /api/sessions/${session}`]: treeOf([view], [inner]),
    })
    const said = await isola(['agent', 'run', 'notes', 'go'], server)
    expect(said.code).toBe(3)
    expect(said.stderr).toBe(
      'It waits: kv__set with {"key":"a"} waits for a yes.\n  isola approval allow apr_1\n',
    )
  })

  it('is shown whole with --json, and exits as it ended', async () => {
    const view = ended('failed', { error: { code: 'model_network', message: 'No answer.' } })
    const server = answering({ ...started, [`POST /api/sessions/${session}/runs`]: view })
    const { code, stdout, stderr } = await isola(['agent', 'run', 'notes', 'go', '--json'], server)
    expect([code, JSON.parse(stdout)]).toEqual([1, view])
    expect(stderr).toContain('model_network: No answer.')
  })
})

describe('isola run', () => {
  const view = ended('failed', { error: { code: 'model_network', message: 'No answer.' } })
  const inner = {
    ...treeOf([ended('completed', { result: 'ok' })]),
    id: child,
    agent: 'writer',
    parent: { session, run, call: 'c' },
  }
  const other = {
    ...inner,
    id: `ses_${'D'.repeat(22)}`,
    agent: 'stranger',
    parent: { session, run: 'run_other', call: 'c' },
  }

  it('list has my latest runs, and --given-up the others', async () => {
    const listing = {
      id: run,
      session,
      agent: 'a',
      principal: 'ada',
      state: 'running',
      startedAtMs: 1_000,
      links: {},
    }
    const server = answering({
      'GET /api/runs': { runs: [listing] },
      'GET /api/operator/runs': { runs: [] },
    })
    expect((await isola(['run', 'list'], server)).stdout).toContain(`${run}  ${session}`)
    expect((await isola(['run', 'list', '--given-up'], server)).stdout).toBe(
      'No run was given up.\n',
    )
    expect(server.asked.map(({ path }) => path)).toEqual([
      'GET /api/runs',
      'GET /api/operator/runs',
    ])
    expect((await isola(['run', 'list', '--given-up', '--agent', 'a'], server)).code).toBe(2)
  })

  it('show has any run by its id alone: state, error, cost and its own sub-agents', async () => {
    const server = answering({
      [`GET /api/runs/${run}`]: view,
      [`GET /api/sessions/${session}`]: treeOf([view], [inner, other]),
    })
    const { code, stdout } = await isola(['run', 'show', run], server)
    expect(code).toBe(0)
    for (const part of [
      /^state +failed$/m,
      /^error +model_network: No answer\.$/m,
      /^cost +\$0\.01, 15 tokens \(10 in, 5 out\), 2 turns$/m,
      /^principal +ada$/m,
      /^sub-agents\n {2}ses_C+ {2}writer/m,
    ])
      expect(stdout).toMatch(part)
    expect(stdout).not.toContain('stranger')
  })

  it('show says what a parked run waits for, and the command', async () => {
    const waits = parked([limitPause({ limit: 'maxTurns', needed: 9, message: 'x'.repeat(300) })])
    const server = answering({ [`GET /api/runs/${run}`]: waits })
    const { stdout } = await isola(['run', 'show', run], server)
    expect(stdout).toContain(`It waits: ${'x'.repeat(300)}\n  isola run raise ${run} --turns 9`)
  })

  it('show knows one that was given up, whose session is gone', async () => {
    const row = { run, session, agent: 'a', principal: 'ada', state: 'open', atMs: 0, view: null }
    const server = answering({ [`GET /api/operator/runs/${run}`]: row })
    expect((await isola(['run', 'show', run], server)).stdout).toContain('the session is gone')
    const none = await isola(['run', 'show', below], server)
    expect(none).toMatchObject({ code: 1, stdout: '', stderr: 'isola: No such thing.\n' })
  })

  it.each([
    [
      ['run', 'raise', run, '--cost', '0.05'],
      `POST /api/sessions/${session}/runs/${run}/limits`,
      { maxCostUsd: 0.05 },
    ],
    [
      ['run', 'raise', run, '--cost=$0.05', '--turns', '9'],
      `POST /api/sessions/${session}/runs/${run}/limits`,
      { maxCostUsd: 0.05, maxTurns: 9 },
    ],
    [
      ['run', 'raise', session, run, '--tokens', '9'],
      `POST /api/sessions/${session}/runs/${run}/limits`,
      { maxTokens: 9 },
    ],
    [['run', 'cancel', run], `POST /api/sessions/${session}/runs/${run}/cancel`, {}],
    [
      ['run', 'cancel', run, '--reason', 'no'],
      `POST /api/sessions/${session}/runs/${run}/cancel`,
      { reason: 'no' },
    ],
    [['run', 'cancel', run, '--dry-run'], `GET /api/runs/${run}`, undefined],
  ])('%j needs no session', async (line, path, body) => {
    const server = answering({
      [`GET /api/runs/${run}`]: view,
      [`GET /api/sessions/${session}/runs/${run}`]: view,
      [`POST /api/sessions/${session}/runs/${run}/limits`]: { ...view, state: 'running' },
      [`POST /api/sessions/${session}/runs/${run}/cancel`]: { ...view, state: 'cancelled' },
    })
    expect((await isola(line, server)).code).toBe(0)
    expect(server.asked.at(-1)).toEqual({ path, ...(body && { body }) })
  })

  it.each(['retry', 'drop'])(
    '%s of a run that was not given up names the list that it takes',
    async (verb) => {
      const line = ['run', verb, run, ...(verb === 'drop' ? ['--yes'] : [])]
      const { code, stderr } = await isola(line, answering({}))
      expect(code).toBe(1)
      expect(stderr).toContain('isola run list --given-up')
    },
  )
})

describe('the id that isola approval list prints', () => {
  const approval = {
    id: 'apr_1',
    approver: 'owner',
    asker: { agent: 'writer' },
    reason: 'destructive',
    rule: 'deployment: destructive ask',
  }
  const call = (name: string, more: object = {}) => ({
    call: name,
    tool: 'kv__set',
    kind: 'approval',
    input: { key: 'a' },
    argsHash: 'h1',
    sinceMs: 1,
    ...more,
  })
  const atLimit = limitPause({
    limit: 'maxCostNanoUsd',
    needed: 33_600_000,
    message: `The limit is reached: ${'y'.repeat(200)} 0.0336.`,
  })
  const one = call('c1', { approval })
  const question = call('c2', { kind: 'question', input: { question: 'Which?' } })
  const kinds: readonly (readonly [string, readonly object[], readonly string[]])[] = [
    ['a call with an approval', [one], ['apr_1']],
    ['a limit', [atLimit], [run]],
    ['a suspected loop', [limitPause({ message: 'Round and round.' })], [run]],
    [
      'several in one run',
      [one, question, call('c3', { kind: 'question', input: {} })],
      ['apr_1', `${run}:c2`, `${run}:c3`],
    ],
    ['a call without an inbox', [call('c4')], [run]],
  ]
  const serverOf = (pauses: readonly object[], hasInbox = false) => {
    const waits = parked(pauses)
    const entry = {
      ...approval,
      state: 'open',
      tool: 'kv__set',
      principal: 'ada',
      agent: 'writer',
      session,
      run,
      call: 'c1',
      argsHash: 'h1',
      label: { integrity: 'user', confidentiality: 'said', sources: [] },
      pause: one,
      atMs: 1,
    }
    const answers: Answers = {
      'GET /api/sessions': { sessions: [{ id: session, principal: 'ada' }] },
      [`GET /api/sessions/${session}`]: treeOf([waits]),
      [`GET /api/runs/${run}`]: waits,
      [`POST /api/sessions/${session}/runs/${run}/decisions`]: {
        ...waits,
        state: 'running',
        pauses: [],
      },
      [`POST /api/sessions/${session}/runs/${run}/limits`]: {
        ...waits,
        state: 'running',
        pauses: [],
      },
      ...(hasInbox && {
        'GET /api/operator/approvals': { approvals: pauses.includes(one) ? [entry] : [] },
        'GET /api/operator/approvals/apr_1': entry,
        'POST /api/operator/approvals/apr_1': { id: 'apr_1' },
        'POST /api/operator/approvals': { decided: [{ id: 'apr_1', ok: true }] },
      }),
    }
    const refused = () =>
      Response.json({ error: { code: 'forbidden', message: 'No.' } }, { status: 403 })
    const server = answering(answers)
    const fetch = async (url: unknown, init?: RequestInit) =>
      !hasInbox && String(url).includes('/api/operator/')
        ? refused()
        : server.fetch(url as string, init)
    return { ...server, fetch: fetch as typeof globalThis.fetch }
  }

  describe.each([
    ['somebody without an inbox', false],
    ['an operator', true],
  ])('of %s', (_, hasInbox) => {
    it.each(kinds)('%s: is taken by show, allow, approve and deny', async (_what, pauses, ids) => {
      const { stdout } = await isola(['approval', 'list'], serverOf(pauses, hasInbox))
      const listed = stdout
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.split(/ {2,}/)[0])
      expect(listed).toEqual(ids)
      for (const id of listed as string[]) {
        for (const words of [
          ['show', id],
          ['allow', id, '--yes'],
          ['approve', id, '--yes'],
          ['deny', id],
        ]) {
          const server = serverOf(pauses, hasInbox)
          const { code, stderr } = await isola(['approval', ...words], server)
          const needsMore =
            stderr.includes('isola chat --session') || stderr.includes('--cost 0.0336')
          // What a yes cannot settle says the command that does.
          expect([0, needsMore ? 1 : 0], `${words.join(' ')}: ${stderr}`).toContain(code)
        }
      }
    })
  })

  it('C1: a limit has its amount in a column of its own, and its reason whole', async () => {
    const { stdout } = await isola(['approval', 'list'], serverOf([atLimit]))
    expect(stdout).toMatch(/ needs .* why\n/)
    expect(stdout).toContain(' $0.0336 ')
    expect(stdout).toContain(`The limit is reached: ${'y'.repeat(200)} 0.0336.`)
  })

  it.each([
    [['--cost', '0.05'], { maxCostUsd: 0.05 }],
    [['--cost', '$0.05'], { maxCostUsd: 0.05 }],
    [['--cost', '1', '--turns', '40'], { maxCostUsd: 1, maxTurns: 40 }],
  ])('C1: allow %j gives the run more, without its session', async (more, body) => {
    const server = serverOf([atLimit])
    const said = await isola(['approval', 'allow', run, ...more], server)
    expect(said).toMatchObject({ code: 0, stdout: `${run} has its new limits; it is running.\n` })
    expect(server.asked.at(-1)).toEqual({
      path: `POST /api/sessions/${session}/runs/${run}/limits`,
      body,
    })
  })

  it.each([
    ['another run of the session', [], `run_${'O'.repeat(22)}`],
    ['the sub-agent of another run', [{ session, run: 'run_other', call: 'c' }], undefined],
  ])('a run’s id names no call of %s', async (_what, parents, other) => {
    const waits = call('c9')
    const own = parked([{ ...limitPause({}), kind: 'session' }])
    const inner = parents.map((parent) => ({
      ...treeOf([parked([waits], below, child)]),
      id: child,
      parent,
    }))
    const runs = other === undefined ? [own] : [own, parked([waits], other)]
    const server = answering({
      [`GET /api/runs/${run}`]: own,
      [`GET /api/sessions/${session}`]: treeOf(runs, inner),
    })
    const { code, stdout } = await isola(['approval', 'allow', run, '--yes'], server)
    expect([code, stdout]).toEqual([1, ''])
    expect(server.asked.filter(({ path }) => path.startsWith('POST'))).toEqual([])
  })

  it('a limit is named for what waits at one, and for nothing else', async () => {
    const { code, stderr } = await isola(
      ['approval', 'allow', 'apr_1', '--cost', '1', '--yes'],
      serverOf([one]),
    )
    expect([code, stderr]).toEqual([2, expect.stringContaining('waits at no limit')])
  })

  it('E6: the owner’s yes goes to the session with the hash that was shown, and reads in plain words', async () => {
    const server = serverOf([one])
    expect((await isola(['approval', 'allow', 'apr_1', '--yes'], server)).code).toBe(0)
    expect(server.asked.at(-1)).toEqual({
      path: `POST /api/sessions/${session}/runs/${run}/decisions`,
      body: { call: 'c1', decision: 'approve', argsHash: 'h1' },
    })
    const { stdout } = await isola(['approval', 'show', 'apr_1'], serverOf([one], true))
    expect(stdout).toContain('It asks because it may destroy something.')
    expect(stdout).toContain('It has read what you said.')
    expect(stdout).not.toMatch(/destructive ask|a yes of|user, said/)
  })

  it.each(['call_1', 'ses_1', 'apr_9', `run_${'X'.repeat(22)}`, ''])(
    'says where the ids are for one that names nothing: %j',
    async (id) => {
      const { code, stdout, stderr } = await isola(['approval', 'show', id], serverOf([one]))
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).not.toBe('')
    },
  )
})
