import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const remote = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const folder = mkdtempSync(join(tmpdir(), 'isola-logs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Answers = Readonly<Record<string, unknown>>
const answering = (answers: Answers) => {
  const asked: string[] = []
  const fetch = async (url: unknown, { method = 'GET' }: RequestInit = {}) => {
    const { pathname, search } = new URL(String(url))
    asked.push(`${method} ${pathname}${search}`)
    const answer = answers[`${method} ${pathname}`]
    return answer === undefined
      ? Response.json({ error: { code: 'forbidden', message: 'No.' } }, { status: 403 })
      : Response.json(answer)
  }
  return { asked, env: remote, fetch: fetch as typeof globalThis.fetch }
}

describe('isola --version', () => {
  it.each([['--version'], ['-V'], ['version']])('%s says the version alone', async (word) => {
    expect(await isola([word])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})

describe('isola status', () => {
  const none = { tokens: null, costUsd: null }
  const day = {
    limits: { tokens: 30_000, costUsd: 0.5 },
    settled: { tokens: 1_200, costUsd: 0.0203 },
    reserved: { tokens: 0, costUsd: 0 },
  }
  const status = { version, principal: 'ada', role: 'user', model: 'local/llama', day }
  const health = {
    status: 'ok',
    plugins: [],
    incidents: { counts: {} },
    models: { default: 'local/llama' },
    secrets: 'ok',
  }

  it.each([
    [
      'a user',
      status,
      undefined,
      [
        'server  https://isola.example answers',
        'you     ada (user)',
        'today   $0.0203 of $0.5 spent, 1200 of 30000 tokens',
      ],
    ],
    [
      'a day without a limit',
      { ...status, day: { ...day, limits: none } },
      undefined,
      ['today   $0.0203 and 1200 tokens spent, no limit a day'],
    ],
    ['a day that is not known', { ...status, day: null }, undefined, ['today   not known now']],
    ['no model', { ...status, model: null }, undefined, ['model   none: set OPENAI_API_KEY']],
    [
      'another version',
      { ...status, version: '9.9.9' },
      undefined,
      [`version 9.9.9 (this command is ${version})`],
    ],
    ['an operator', status, health, ['health  ok']],
    [
      'what is held',
      { ...status, day: { ...day, reserved: { tokens: 7, costUsd: 0.0001 } } },
      undefined,
      ['$0.0001 and 7 tokens held for open runs'],
    ],
    [
      'what is wrong',
      status,
      {
        ...health,
        status: 'degraded',
        plugins: [{ plugin: 'bad' }],
        incidents: { counts: { model_failing: 2 } },
      },
      ['health  degraded: plugins are off: bad; 2 incidents (isola doctor)'],
    ],
  ])('of %s is a few lines', async (_, own, whole, parts) => {
    const answers = { 'GET /api/status': own, ...(whole && { 'GET /api/operator/health': whole }) }
    const { code, stdout, stderr } = await isola(['status'], answering(answers))
    expect([code, stderr]).toEqual([0, ''])
    for (const part of parts) expect(stdout).toContain(part)
    expect(stdout.trim().split('\n').length).toBe(whole ? 5 : 4)
  })

  it('says that no server answers, and how to start one', async () => {
    const fetch = async () => {
      throw new TypeError('fetch failed')
    }
    const env = { ISOLA_KEY: 'k', PORT: '18499' }
    const said = await isola(['status'], { env, fetch })
    expect(said).toMatchObject({ code: 1, stdout: '' })
    expect(said.stderr).toContain('npm start')
  })
})

describe('isola logs', () => {
  const env = { ISOLA_KEY: 'k', ISOLA_STATE: folder }
  const path = join(folder, 'server.log')
  const at = '2026-11-28T03:17:02.672Z'
  const fault = JSON.stringify({
    level: 'error',
    event: 'fault',
    at,
    code: 'model_network',
    message: 'Not reached.',
  })
  const lines = [`${at} one`, `${at} ${fault}`, `${at} tw\u001b[2Jo`]

  it('says where it looked, where no server has said anything', async () => {
    const said = await isola(['logs'], { env: { ...env, ISOLA_STATE: join(folder, 'none') } })
    expect(said).toMatchObject({ code: 1, stdout: '' })
    expect(said.stderr).toContain(join(folder, 'none', 'server.log'))
  })

  it('shows what the local server said, a fault as a line, with what is in the older file', async () => {
    writeFileSync(`${path}.1`, `${at} zero\n`)
    writeFileSync(path, `${lines.join('\n')}\n`)
    const { stdout } = await isola(['logs'], { env })
    expect(stdout.split('\n')).toEqual([
      `${at} zero`,
      `${at} one`,
      '2026-11-28 03:17:02 ERROR model_network: Not reached.',
      `${at} tw\\u{1b}[2Jo`,
      '',
    ])
    expect((await isola(['logs', '--tail', '1'], { env })).stdout).toBe(`${at} tw\\u{1b}[2Jo\n`)
    const json = (await isola(['logs', '--json'], { env })).stdout.trim().split('\n')
    expect(json.map((line) => JSON.parse(line))[2]).toEqual({ at, text: fault })
  })

  it('follows it over half a line and into a new file, each line once', async () => {
    writeFileSync(path, `${at} first\n`)
    rmSync(`${path}.1`)
    const stop = new AbortController()
    const steps = [
      () => appendFileSync(path, `${at} sec`),
      () => appendFileSync(path, `ond\n`),
      () => {
        appendFileSync(path, `${at} third\n`)
        renameSync(path, `${path}.1`)
        writeFileSync(path, `${at} 4\n`)
      },
      () => {},
      () => stop.abort(),
    ]
    const sleep = async () => {
      steps.shift()?.()
    }
    const { stdout } = await isola(['logs', '--follow'], { env, sleep, signal: stop.signal })
    expect(stdout.trim().split('\n')).toEqual(
      ['first', 'second', 'third', '4'].map((word) => `${at} ${word}`),
    )
  })

  it('follows it from where it was read to: half a line at the start comes once, whole', async () => {
    writeFileSync(path, `${at} first\n${at} sec`)
    rmSync(`${path}.1`, { force: true })
    const stop = new AbortController()
    const steps = [() => appendFileSync(path, 'ond\n'), () => {}, () => stop.abort()]
    const sleep = async () => {
      steps.shift()?.()
    }
    const { stdout } = await isola(['logs', '--follow'], { env, sleep, signal: stop.signal })
    expect(stdout).toBe(`${at} first\n${at} second\n`)
  })

  it.each(['\u009b2J', '\u202e', '\u{e0041}', '\u200b', '\ufeff'])(
    'T3: --json writes no raw %j, and a program reads it all the same',
    async (hidden) => {
      writeFileSync(path, `${at} a${hidden}b\n`)
      const { stdout } = await isola(['logs', '--json', '--tail', '1'], { env })
      expect(stdout).not.toContain(hidden)
      expect(JSON.parse(stdout)).toEqual({ at, text: `a${hidden}b` })
    },
  )

  it('of a deployment is its record, the newest last', async () => {
    const record = (atMs: number) => ({
      atMs,
      type: 'tool_log',
      principal: 'ada',
      session: 's',
      agent: 'a',
      data: {},
    })
    const server = answering({
      'GET /api/operator/audit': { records: [record(2_000), record(1_000)], last: 2 },
    })
    const { code, stdout } = await isola(['logs', '--tail', '2'], server)
    expect(code).toBe(0)
    expect(server.asked).toEqual(['GET /api/operator/audit?order=desc&limit=2'])
    expect(stdout.split('\n').map((line) => line.slice(0, 20))).toEqual([
      '1970-01-01T00:00:01Z',
      '1970-01-01T00:00:02Z',
      '',
    ])
  })

  it.each(['0', '501', 'x', '-1', '1.5'])('refuses --tail=%s', async (tail) => {
    expect((await isola(['logs', `--tail=${tail}`], { env })).code).toBe(2)
  })
})

describe('isola doctor --clear', () => {
  it('takes incidents off the list by the ids that the doctor shows', async () => {
    const ids = ['model_failing:ses_1', 'retention_failed']
    const answers = Object.fromEntries(
      ids.map((id) => [
        `DELETE /api/operator/incidents/${encodeURIComponent(id)}`,
        { id, cleared: true },
      ]),
    )
    const server = answering(answers)
    const line = ['doctor', ...ids.flatMap((id) => ['--clear', id])]
    const { code, stdout } = await isola(line, server)
    expect([code, server.asked]).toEqual([0, Object.keys(answers)])
    expect(stdout).toContain('model_failing:ses_1 is cleared')
  })

  it('says why it was not, on the error output', async () => {
    const said = await isola(['doctor', '--clear', 'x'], answering({}))
    expect(said).toEqual({ code: 1, stdout: '', stderr: 'isola: No.\n' })
  })
})
