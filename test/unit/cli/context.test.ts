import { describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const session = `ses_${'S'.repeat(22)}`
const view = {
  session,
  agent: 'orchestrator',
  model: 'openai/a-model',
  tokens: 5_000,
  windowTokens: 20_000,
  startTokens: 16_000,
  targetTokens: 10_000,
  maxOutputTokens: 4_096,
  saidMessages: 9,
  parts: [
    { kind: 'instructions', tokens: 1_000, count: 1 },
    { kind: 'tool_results', tokens: 3_000, count: 4 },
    { kind: 'a_new_kind', tokens: 996, count: 1 },
  ],
  costUsd: { input: 0.005, atMost: 0.07 },
}
const compaction = {
  reason: 'requested',
  stage: 'summary',
  by: 'model',
  tokensBefore: 5_000,
  tokensAfter: 2_400,
  left: { results: 0, messages: 12, notKept: 0 },
  costNanoUsd: 2_000_000,
  callCostNanoUsd: { before: 5_000_000, after: 2_400_000 },
}
function server(refusal?: string) {
  const asked: { readonly path: string; readonly body: unknown }[] = []
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const path = String(url).slice(env.ISOLA_URL.length)
    const body: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    asked.push({ path, body })
    if (path.endsWith('/context')) return Response.json(view)
    if (path.endsWith('/compact')) {
      return refusal === undefined
        ? Response.json({ session, run: 'run_1', state: 'completed', compaction })
        : Response.json({ error: { code: 'conflict', message: refusal } }, { status: 409 })
    }
    return Response.json({ id: session, agent: 'orchestrator', runs: [], children: [], usage: {} })
  }
  return { asked, fetch: fetch as typeof globalThis.fetch }
}

describe('/context in isola chat', () => {
  it('shows what fills the window, and what the next request costs', async () => {
    const { fetch, asked } = server()
    const { code, stderr } = await isola(['chat'], { env, fetch, input: '/context\n' })
    expect(code).toBe(0)
    expect(stderr).toMatch(/instructions +1 +1000 +5 %/)
    expect(stderr).toMatch(/results of tools +4 +3000 +15 %/)
    expect(stderr).toMatch(/a_new_kind +1 +996 +5 %/)
    expect(stderr).toMatch(/in all +5000 +25 %/)
    expect(stderr).toContain('It takes 20000 tokens; from 16000 on it is compacted, to 10000.')
    expect(stderr).toContain('It costs $0.005000, with the longest answer $0.07.')
    // Nothing was sent as a message.
    expect(asked.some(({ path }) => path.endsWith('/runs'))).toBe(false)
  })
})

describe('/compact in isola chat', () => {
  it('says what it made of it and what it cost, with the model that was named', async () => {
    const { fetch, asked } = server()
    const argv = ['chat', '--model', 'a-model']
    const { stderr } = await isola(argv, { env, fetch, input: '/compact\n' })
    expect(stderr).toContain(
      '5000 tokens before, 2400 now: 12 messages are in a summary by the model. It cost $0.002000.',
    )
    expect(stderr).toContain('The next request: $0.005000 before, $0.002400 now.')
    expect(asked.at(-1)).toEqual({
      path: `/api/sessions/${session}/compact`,
      body: { model: 'a-model' },
    })
  })

  it('says why it was refused, and the conversation goes on', async () => {
    const { fetch } = server('There is nothing to compact.')
    const { code, stderr } = await isola(['chat'], { env, fetch, input: '/compact\n/session\n' })
    expect([code, stderr]).toEqual([0, expect.stringContaining('There is nothing to compact.')])
    expect(stderr).toContain(`\n${session}\n`)
  })

  it('is in /help', async () => {
    const { stderr } = await isola(['chat'], { env, fetch: server().fetch, input: '/help\n' })
    expect(stderr).toMatch(/\/compact +make room/)
    expect(stderr).toMatch(/\/context +what fills/)
  })
})

describe('isola session context and compact', () => {
  it('show the same of a session that is named, or the answer as JSON', async () => {
    const { fetch } = server()
    const shown = await isola(['session', 'context', session], { env, fetch })
    expect(shown.stdout).toMatch(/in all +5000 +25 %/)
    const made = await isola(['session', 'compact', session], { env, fetch })
    expect(made.stdout).toContain('5000 tokens before, 2400 now')
    const json = await isola(['session', 'context', session, '--json'], { env, fetch })
    expect(JSON.parse(json.stdout)).toEqual(view)
  })

  it('fails with what the server says', async () => {
    const { fetch } = server('The run run_1 is not over.')
    const { code, stderr } = await isola(['session', 'compact', session], { env, fetch })
    expect([code, stderr]).toEqual([1, expect.stringContaining('run_1 is not over')])
  })
})
