import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const session = `ses_${'S'.repeat(22)}`
const answering = (body: unknown) => {
  const asked: string[] = []
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const path = String(url).slice(env.ISOLA_URL.length)
    asked.push(init.method === 'POST' ? `POST ${path}` : path)
    return Response.json(body)
  }
  return { asked, fetch: fetch as typeof globalThis.fetch }
}

describe('isola session list', () => {
  const row = {
    id: session,
    agent: 'orchestrator',
    principal: 'ann',
    createdAtMs: 1_790_000_000_000,
    usedAtMs: 1_790_000_060_000,
    runs: 2,
    state: 'completed',
    isStateless: false,
  }

  it('shows a line each, and how to go on', async () => {
    const next = `1790000000000-${session}`
    const { fetch, asked } = answering({ sessions: [row], next })
    const { code, stdout } = await isola(['session', 'list'], { env, fetch })
    expect(code).toBe(0)
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['session', 'agent', 'runs', 'last run', 'made', 'used'],
      [session, 'orchestrator', '2', 'completed', '2026-09-21T14:13:20Z', '2026-09-21T14:14:20Z'],
      [`More: --after ${next}`],
      [''],
    ])
    expect(asked).toEqual(['/api/sessions'])
  })

  it.each([
    [['--all'], '?principal=*'],
    [['--principal', 'ann', '--state', 'failed'], '?principal=ann&state=failed'],
    [['--stateless', '--agent', 'a', '--limit', '5'], '?agent=a&limit=5&stateless=true'],
  ])('asks for %j', async (options, query) => {
    const { fetch, asked } = answering({ sessions: [{ ...row, agent: null, state: null }] })
    const { code, stdout } = await isola(['session', 'list', ...options], { env, fetch })
    expect([code, asked]).toEqual([0, [`/api/sessions${query}`]])
    expect(stdout.includes('ann')).toBe(!options.includes('--stateless'))
  })

  it('says when there are none, and refuses to be asked for one and for all', async () => {
    const { fetch } = answering({ sessions: [] })
    expect((await isola(['session', 'list'], { env, fetch })).stdout).toBe('No sessions.\n')
    const both = await isola(['session', 'list', '--all', '--principal', 'ann'], { env, fetch })
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('exclude each other') })
  })
})

describe('isola session export --out', () => {
  let folder: string
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'isola-export-'))))
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const write = (out: string) => {
    const { fetch, asked } = answering({ id: session, children: [], messages: [] })
    const argv = ['session', 'export', session, '--out', out]
    return isola(argv, { env, fetch }).then((outcome) => ({ ...outcome, asked }))
  }

  it.each([
    ['into a folder that is not there', 'none/x.jsonl', 'there is no folder'],
    ['below a file', 'file/x.jsonl', 'is no folder'],
    ['to a file that is there', 'file', '--force replaces it'],
  ])('says what to do %s, and asks the server nothing', async (_what, name, hint) => {
    writeFileSync(join(folder, 'file'), 'mine')
    const { code, stderr, asked } = await write(join(folder, name))
    expect([code, asked]).toEqual([1, []])
    expect(stderr).toContain(hint)
    expect(stderr).toContain(join(folder, name))
    expect(stderr).not.toMatch(/ENOENT|ENOTDIR|EEXIST|EISDIR/)
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('mine')
  })

  it('says what to do with a folder, forced or not', async () => {
    mkdirSync(join(folder, 'sub'))
    chmodSync(join(folder, 'sub'), 0o700)
    const { fetch } = answering({})
    const argv = ['session', 'export', session, '--out', join(folder, 'sub'), '--force']
    const { code, stderr } = await isola(argv, { env, fetch })
    expect([code, stderr.includes('Name a file in it.')]).toEqual([1, true])
  })
})

describe('isola session show', () => {
  it('says whose it is, and which calls wait for a person', async () => {
    const pause = { call: 'call_1', tool: 'kv__set', kind: 'approval', input: { key: 'a' } }
    const tree = {
      id: session,
      agent: 'orchestrator',
      principal: 'ann',
      createdAtMs: 0,
      runs: [{ id: 'run_1', state: 'parked', pauses: [pause] }],
      usage: { inputTokens: 1, outputTokens: 1 },
      costEstimateUsd: 0,
      children: [],
    }
    const { fetch } = answering(tree)
    const { stdout } = await isola(['session', 'show', session], { env, fetch })
    expect(stdout).toContain('orchestrator  of ann  since')
    expect(stdout).toContain('run_1  parked  approval of kv__set (call_1): {"key":"a"}')
  })
})

describe('isola session cancel', () => {
  const runs = [
    { id: 'run_1', state: 'completed' },
    { id: 'run_2', state: 'parked' },
    { id: 'run_3', state: 'queued' },
  ]

  it('stops what runs or waits, and leaves what is over', async () => {
    const { fetch, asked } = answering({ id: session, runs, children: [], state: 'cancelled' })
    const { code, stdout } = await isola(['session', 'cancel', session], { env, fetch })
    expect([code, stdout]).toEqual([0, `${session}  cancelled\n`.repeat(2)])
    const path = `/api/sessions/${session}`
    const post = `POST ${path}/runs`
    expect(asked).toEqual([path, `${post}/run_2/cancel`, `${post}/run_3/cancel`])
  })

  it('stops the run that is named', async () => {
    const { fetch, asked } = answering({ id: session, runs, children: [], state: 'cancelled' })
    await isola(['session', 'cancel', session, 'run_3', '--reason', 'no'], { env, fetch })
    expect(asked.slice(1)).toEqual([`POST /api/sessions/${session}/runs/run_3/cancel`])
  })

  const child = `ses_${'C'.repeat(22)}`
  const tree = {
    id: session,
    runs: runs.slice(0, 1),
    children: [{ id: child, runs: [{ id: 'run_4', state: 'running' }], children: [] }],
  }

  it('E8: stops a sub-agent that works in the background, in its own session', async () => {
    const { fetch, asked } = answering({ ...tree, state: 'cancelled' })
    await isola(['session', 'cancel', session], { env, fetch })
    expect(asked.slice(1)).toEqual([`POST /api/sessions/${child}/runs/run_4/cancel`])
  })

  it('stops the run of a sub-agent that is named', async () => {
    const { fetch, asked } = answering({ ...tree, state: 'cancelled' })
    await isola(['session', 'cancel', session, 'run_4'], { env, fetch })
    expect(asked.slice(1)).toEqual([`POST /api/sessions/${child}/runs/run_4/cancel`])
  })

  it('says so where nothing runs', async () => {
    const { fetch } = answering({ runs: runs.slice(0, 1), children: [] })
    const { stdout } = await isola(['session', 'cancel', session], { env, fetch })
    expect(stdout).toBe('Nothing runs or waits in it.\n')
  })
})
