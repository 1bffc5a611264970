import { describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const session = `ses_${'S'.repeat(22)}`
const run = `run_${'R'.repeat(22)}`

function answering(body: unknown) {
  const asked: { readonly path: string; readonly body: unknown }[] = []
  const fetch = async (url: unknown, { body: sent }: RequestInit = {}) => {
    const path = String(url).slice(env.ISOLA_URL.length)
    asked.push({ path, body: typeof sent === 'string' ? JSON.parse(sent) : undefined })
    return Response.json(body)
  }
  return { asked, fetch: fetch as typeof globalThis.fetch }
}

const message =
  'The limit of 4 turns is reached: 4 spent, the next step needs a limit of at least 5.'
const pause = {
  kind: 'budget',
  call: 'limit_4_1',
  tool: '',
  input: {},
  argsHash: '',
  sinceMs: 1,
  reached: { code: 'lease_turns', limit: 'maxTurns', allowed: 4, spent: 4, needed: 5, message },
}
const parked = { id: run, session, agent: 'orchestrator', state: 'parked', pauses: [pause] }

describe('a run that waits at a limit', () => {
  it('is shown by isola session show with what was reached', async () => {
    const tree = {
      id: session,
      agent: 'orchestrator',
      createdAtMs: 1_790_000_000_000,
      runs: [parked],
      usage: { inputTokens: 1, outputTokens: 1 },
      children: [],
    }
    const { stdout } = await isola(['session', 'show', session], { env, ...answering(tree) })
    expect(stdout).toContain(`parked  ${message}\n`)
    expect(stdout).not.toContain('budget of  (')
  })

  it('is shown by isola audit list by what it waits for', async () => {
    const data = { pauses: [{ call: 'limit_4_1', tool: '', kind: 'budget' }], turn: 4 }
    const record = { atMs: 1, principal: 'ann', session, agent: 'a', type: 'run_parked', data }
    const page = { records: [record], last: 1 }
    const { stdout } = await isola(['audit', 'list'], { env, ...answering(page) })
    expect(stdout).toMatch(/run_parked +waits: +budget\n/)
  })

  it.each([
    ['--turns', '40', { maxTurns: 40 }],
    ['--platform', '0.5', { maxPlatformUsd: 0.5 }],
    ['--depth', '6', { maxDepth: 6 }],
    ['--concurrency', '12', { maxConcurrency: 12 }],
  ])('E1: is raised by isola run raise %s %s', async (option, value, body) => {
    const { asked, fetch } = answering({ ...parked, state: 'running', pauses: [] })
    const { code } = await isola(['run', 'raise', session, run, option, value], { env, fetch })
    expect(code).toBe(0)
    expect(asked).toEqual([{ path: `/api/sessions/${session}/runs/${run}/limits`, body }])
  })

  it('ends with 3 where it still waits with the new limit', async () => {
    const { fetch } = answering(parked)
    const words = ['run', 'raise', session, run, '--turns', '5']
    const { code, stdout } = await isola(words, { env, fetch })
    expect([code, stdout]).toEqual([3, expect.stringContaining('still waits')])
  })

  it.each(['', ' ', 'lots', '1,5', 'Infinity'])(
    'N6: is not raised to %j, which is refused by the name of the option',
    async (value) => {
      const { asked, fetch } = answering({})
      const words = ['run', 'raise', session, run, `--turns=${value}`]
      const { code, stderr } = await isola(words, { env, fetch })
      expect(code).toBe(2)
      expect(stderr).toContain('--turns must be a number')
      expect(asked).toEqual([])
    },
  )
})

describe('a run that seems to go round in circles', () => {
  const reached = { code: 'loop_suspected', message: 'It made the same calls 5 times.' }
  const tree = { id: session, runs: [{ ...parked, pauses: [{ ...pause, reached }] }], children: [] }

  it('goes on with isola approval approve, which has no arguments to look at', async () => {
    const { asked, fetch } = answering(tree)
    const words = ['approval', 'approve', session, 'limit_4_1']
    const { code, stderr } = await isola(words, { env, fetch })
    expect([code, stderr]).toEqual([0, ''])
    expect(asked.at(-1)).toEqual({
      path: `/api/sessions/${session}/runs/${run}/decisions`,
      body: { call: 'limit_4_1', decision: 'approve' },
    })
  })

  it('is told from one at a limit, which has to be raised', async () => {
    const waits = { ...tree, runs: [parked] }
    const words = ['approval', 'approve', session, 'limit_4_1']
    const { code, stderr } = await isola(words, { env, ...answering(waits) })
    expect(code).toBe(1)
    expect(stderr).toContain(`isola run raise ${run} --turns 5`)
  })
})

describe('isola usage show of a day without any request', () => {
  it('says what the deployment itself cost', async () => {
    const none = { runs: 0, modelCalls: 0, toolCalls: 0, tokens: 0, inputTokens: 0 }
    const answer = {
      by: 'spending',
      sinceMs: 0,
      untilMs: 86_400_000,
      rows: [],
      total: { ...none, outputTokens: 0, costUsd: 0, platform: {}, platformUsd: 0 },
      deployment: { platform: { wakes: 9_000 }, platformUsd: 20.5 },
    }
    const words = ['usage', 'show', '--day', 'yesterday']
    const { stdout } = await isola(words, { env, ...answering(answer) })
    expect(stdout).toContain('No runs from 1970-01-01T00:00:00Z')
    expect(stdout).toContain('platform, the deployment itself: $20.50 (wakes 9000;')
  })
})
