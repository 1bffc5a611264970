import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer } from '../fakes/client.ts'
import { startEffectServer } from '../fakes/model-server.mjs'
import { freePort, startServer, type RunningServer } from './server.ts'

const review =
  'Save `var total = eval(input)` to the file total.js, then let code-reviewer review the file total.js.'
const store = 'Use kv to set the key launch to the value Friday.'

describe('the isola command against a running server, with the offline model', () => {
  let server: RunningServer
  let port = 0
  const state = mkdtempSync(join(tmpdir(), 'isola-cli-'))

  beforeAll(async () => {
    port = await freePort()
    server = await startServer({ state, port })
  })
  afterAll(async () => {
    await server?.stop()
    rmSync(state, { recursive: true, force: true })
  })

  /** One command line in a process of its own; `input` undefined leaves its input open. */
  const start = (args: readonly string[], env: Record<string, string> = {}, input?: string) => {
    const child = spawn(process.execPath, ['scripts/isola.mjs', ...args], {
      env: {
        ...process.env,
        ISOLA_URL: '',
        ISOLA_KEY: undefined,
        OPENAI_BASE_URL: '',
        OPENAI_API_KEY: '',
        PORT: String(port),
        ISOLA_STATE: state,
        ...env,
      },
    })
    const said = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()))
    if (input !== undefined) child.stdin.end(input)
    const ended = new Promise<number | null>((resolve) =>
      child.once('close', (code) => resolve(code)),
    )
    const until = async (text: string) => {
      for (let tries = 0; !said.stderr.includes(text); tries += 1) {
        if (tries > 300) throw new Error(`"${text}" was not said:\n${said.stderr}`)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
    return { child, said, ended, until }
  }
  const isola = async (args: readonly string[], env?: Record<string, string>, input = '') => {
    const { said, ended } = start(args, env, input)
    return { code: await ended, ...said }
  }
  const sessionOf = (text: string) => /ses_[0-9A-Za-z]{22}/.exec(text)?.[0] ?? ''

  it('talks, shows tools and sub-agents as they work, goes on in a session, and tells what is stored', async () => {
    const first = await isola(['chat'], {}, `${review}\n`)
    expect(first).toMatchObject({ code: 0 })
    expect(first.stdout).toContain('Line 1 evaluates text as code (eval).')
    expect(first.stderr).toMatch(
      /· files__write .*[^]*· agent code-reviewer begins .*[^]* {4}· files__read .*[^]*agent code-reviewer completed/,
    )

    const session = sessionOf(first.stderr)
    const second = await isola(['chat', '--session', session], {}, `${store}\nWhat can you do?\n`)
    expect(second).toMatchObject({ code: 0 })
    expect(second.stdout).toContain('kv__set: {"stored":"launch"}')

    const shown = await isola(['session', 'show', session, '--json'])
    const tree = JSON.parse(shown.stdout) as Answer
    expect(tree.runs.map((run: Answer) => run.state)).toEqual([
      'completed',
      'completed',
      'completed',
    ])
    const exported = await isola(['session', 'export', session, '--children'])
    const lines = exported.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Answer)
    expect(new Set(lines.map(({ kind }) => kind))).toEqual(new Set(['tree', 'message', 'event']))
    expect(new Set(lines.map((line) => line.session))).toEqual(
      new Set([session, tree.children[0].id]),
    )

    const listed = async () => (await isola(['session', 'list', '--state', 'completed'])).stdout
    while (!(await listed()).includes(session)) await new Promise((done) => setTimeout(done, 200))
    expect((await isola(['session', 'delete', session, '--yes'])).code).toBe(0)
    expect(await listed()).not.toContain(session)
    expect(await isola(['session', 'show', session])).toMatchObject({
      code: 1,
      stderr: 'isola: There is no such session or run.\n',
    })
  })

  it('asks for approvals in the terminal and sends what was decided', async () => {
    const answer = await isola(
      ['chat', '--approve', 'kv__*'],
      {},
      `${store}\nyes\n${store}\nnot now\n${store}\n`,
    )
    expect(
      answer.stderr.match(/\? kv__set wants to run with \{"key":"launch","value":"Friday"\}/g),
    ).toHaveLength(3)
    expect(answer.stdout).toContain('kv__set: {"stored":"launch"}')
    expect(answer.stdout).toContain('kv__set failed: not now (tool_denied)')
    expect(answer.stdout).toContain('kv__set failed: No person is there to decide. (tool_denied)')
    expect(answer.code).toBe(1) // the input had ended before the last question
  })

  it('E6: allows always in the terminal, until the rule is revoked and the next call asks again', async () => {
    const chat = (input: string) => isola(['chat', '--approve', 'kv__*'], {}, input)
    expect((await chat(`${store}\na\n`)).stdout).toContain('kv__set: {"stored":"launch"}')
    const unasked = await chat(`${store}\n`)
    expect(unasked).toMatchObject({ code: 0 })
    expect(unasked.stderr).not.toContain('? kv__set wants to run')
    const rule = /rul_[0-9a-f]{22}/.exec((await isola(['approval', 'rules'])).stdout)?.[0] ?? ''
    expect((await isola(['approval', 'revoke', rule])).code).toBe(2) // no terminal to ask at, and no --yes
    expect(await isola(['approval', 'revoke', rule, '--yes'])).toMatchObject({
      code: 0,
      stdout: `${rule} is revoked: the next call asks again.\n`,
    })
    expect((await isola(['approval', 'rules'])).stdout).toBe('No rules.\n')
    expect((await isola(['approval', 'revoke', rule, '--yes'])).code).toBe(1)
    const asked = await chat(`${store}\nn\n`)
    expect(asked.stderr).toContain('? kv__set wants to run')
    const told = await isola(['audit', 'list', '--type', 'approval_rule_revoked'])
    expect(told.stdout).toContain(`${rule} for kv__set of operator`)
  })

  it('cancels the run on Ctrl-C, and leaves on the next', async () => {
    const { child, ended, until } = start(['chat', '--approve', 'kv__*'])
    child.stdin.write(`${store}\n`)
    await until('? kv__set wants to run')
    child.kill('SIGINT')
    await until('! cancelled: Cancelled by the caller.')
    await new Promise((resolve) => setTimeout(resolve, 300))
    child.kill('SIGINT')
    expect(await ended).toBe(1)
  })

  /** Passes requests on, and cuts every stream of events after its first. */
  const startBreaker = async () => {
    let cuts = 0
    const breaker: Server = createServer((incoming, outgoing) => {
      const { method, url, headers } = incoming
      const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        if (!url?.includes('/events')) return void answer.pipe(outgoing)
        let passed = ''
        answer.on('data', (chunk: Buffer) => {
          passed += chunk.toString()
          const id = /^id: .*$/m.exec(passed)
          if (!id) return
          cuts += 1
          // One whole event and a part of what comes next.
          const end = passed.indexOf('\n\n', id.index)
          outgoing.write(passed.slice(0, end + 2 + 20), () => outgoing.destroy())
          onward.destroy()
        })
        answer.on('end', () => outgoing.end())
      })
      onward.on('error', () => outgoing.destroy())
      incoming.pipe(onward)
    })
    await new Promise<void>((resolve) => breaker.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(breaker.address() as AddressInfo).port}`
    return { url, cuts: () => cuts, close: () => new Promise((resolve) => breaker.close(resolve)) }
  }

  it('resumes a connection that keeps breaking without a gap and without a repeat', async () => {
    const breaker = await startBreaker()
    try {
      const env = { ISOLA_URL: breaker.url }
      const { code, stdout } = await isola(['chat', '--json'], env, `${review}\n`)
      const events = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Answer)
      expect(code).toBe(0)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
      expect(events.at(-1)).toMatchObject({ type: 'run_finished', data: { state: 'completed' } })
      expect(breaker.cuts()).toBeGreaterThanOrEqual(events.length)

      const text = await isola(['chat'], env, `${store}\n`)
      expect(text.stdout.match(/kv__set: \{"stored":"launch"\}/g)).toHaveLength(1)
      expect(text.stdout.match(/Answered by the built-in offline model/g)).toHaveLength(1)
    } finally {
      await breaker.close()
    }
  })

  it('goes on with a run whose server was killed in the middle of it', async () => {
    const effects = await startEffectServer()
    try {
      expect((await isola(['http', 'allow', new URL(effects.url).host])).code).toBe(0)
      const task = `Read ${effects.url}/slow?ms=4000 and store the text under the key slow.`
      const { child, said, ended } = start(['chat', '--json'])
      child.stdin.end(`${task}\n`)
      while (!said.stdout.includes('"tool_started"'))
        await new Promise((resolve) => setTimeout(resolve, 50))
      await server.kill()
      server = await startServer({ state, port })
      expect(await ended, said.stderr).toBe(0)
      const events = said.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Answer)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
      expect(events.map(({ type }) => type)).toContain('run_resumed')
      expect(said.stderr).toContain('! the connection broke; coming back …')
    } finally {
      await effects.close()
    }
  })

  it('I12: the doctor finds nothing wrong with a fresh server, and what is wrong with a wrong key', async () => {
    const well = await isola(['doctor', '--json'])
    const report = JSON.parse(well.stdout) as Answer
    expect(report.findings.filter((found: Answer) => found.state !== 'ok')).toEqual([])
    expect(well.code).toBe(0)
    const ill = await isola(['doctor'], { ISOLA_KEY: 'isk_wrong' })
    expect(ill.code).toBe(1)
    expect(ill.stdout).toMatch(/^FAIL {2}server/m)
    expect(ill.stderr).toContain('Looking at the local database …')
  })

  it('the doctor makes a local database where there is none, and says so', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'isola-doctor-'))
    try {
      const env = { ISOLA_STATE: join(fresh, 'state'), PORT: String(await freePort()) }
      const before = JSON.parse((await isola(['doctor', '--json'], env)).stdout) as Answer
      expect(before.findings).toContainEqual(
        expect.objectContaining({ check: 'database', state: 'warn' }),
      )
      const after = JSON.parse((await isola(['doctor', '--fix', '--json'], env)).stdout) as Answer
      expect(after.findings).toContainEqual({
        check: 'database',
        state: 'ok',
        what: 'The local database is migrated.',
        isFixed: true,
      })
      // Nothing is started at that port: a warning, no failure.
      expect(after.status).toBe('warn')
    } finally {
      rmSync(fresh, { recursive: true, force: true })
    }
  })

  it('lists the record, the day and the runs that were given up', async () => {
    const { stdout } = await isola(['audit', 'list', '--tail', '5', '--json'])
    const times = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as Answer).atMs)
    expect(times).toEqual(times.toSorted((one, other) => other - one))
    expect(times).toHaveLength(5)
    expect((await isola(['usage', 'show', '--by', 'principal'])).stdout).toMatch(/\noperator +\d/)
    expect((await isola(['usage', 'show'])).stdout).toMatch(/^operator +\d+ /m)
    expect((await isola(['usage', 'show', '--mine'])).stdout).toMatch(/^operator, /)
    expect((await isola(['run', 'list', '--given-up'])).stdout).toBe('No run was given up.\n')
    expect((await isola(['audit', 'list', '--trace', 'x'])).stderr).toContain(
      'trace: must be a trace id',
    )
  })

  it('T1: adds a key that opens at once, rotates it with a time of grace, and revokes it', async () => {
    const key = async (...words: readonly string[]) =>
      JSON.parse((await isola(['key', ...words, '--json'])).stdout) as Answer
    const statusWith = async (secret: string) =>
      (await fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } }))
        .status
    const added = await key('add', 'carol', '--role', 'user', '--expires-in', '30d')
    expect(await statusWith(added.key)).toBe(200)
    const rotated = await key('rotate', added.id, '--grace', '1h')
    expect(await Promise.all([added, rotated].map((one) => statusWith(one.key)))).toEqual([
      200, 200,
    ])
    await key('revoke', rotated.id, '--yes')
    expect(await statusWith(rotated.key)).toBe(401)
    const { keys } = await key('list', '--principal', 'carol')
    expect(keys).toHaveLength(2)
  })
})
