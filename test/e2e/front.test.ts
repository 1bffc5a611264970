import { createHash } from 'node:crypto'
import { readFileSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strFromU8, unzipSync } from 'fflate'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer } from '../fakes/client.ts'
import { freePort, startServer, treeOf, type RunningServer } from './server.ts'

describe('npm start', () => {
  let server: RunningServer
  let port = 0
  const state = mkdtempSync(join(tmpdir(), 'isola-e2e-front-'))
  beforeAll(async () => {
    port = await freePort()
    server = await startServer({ state, port })
  })
  afterAll(async () => {
    await server?.stop()
    rmSync(state, { recursive: true, force: true })
  })

  /** Sends a text as it is, then goes away in this way. @returns what came back. */
  const send = (text: string, leave: 'end' | 'destroy' | 'reset' | 'stay') =>
    new Promise<string>((resolve, reject) => {
      let answer = ''
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(text)
        if (leave === 'end') socket.end()
        if (leave === 'destroy') setTimeout(() => socket.destroy(), 100)
        if (leave === 'reset') setTimeout(() => socket.resetAndDestroy(), 100)
      })
      socket.on('data', (chunk) => {
        answer += chunk.toString()
      })
      socket.on('error', reject)
      socket.on('close', () => resolve(answer))
    })
  const head = (path: string, ...lines: string[]) =>
    [`POST ${path} HTTP/1.1`, 'host: localhost', ...lines, '', ''].join('\r\n')
  const healthy = async () => (await fetch(`${server.url}/healthz`)).status
  /** Asked until it answers: time-outs of the test end it. */
  const healthyAgain = async (): Promise<number> => {
    const status = await healthy().catch(() => 503)
    if (status === 200) return status
    await new Promise((done) => setTimeout(done, 200))
    return healthyAgain()
  }

  describe.each(['end', 'destroy', 'reset'] as const)(
    'answers on when a client goes (%s)',
    (leave) => {
      it.each([
        [
          'in the middle of a body',
          (path: string) => `${head(path, 'content-length: 100')}{"a":1}`,
        ],
        [
          'between two chunks',
          (path: string) => `${head(path, 'transfer-encoding: chunked')}7\r\n{"a":1}\r\n`,
        ],
        [
          'within a chunk',
          (path: string) => `${head(path, 'transfer-encoding: chunked')}ff\r\n{"a":1}`,
        ],
        ['before the body', (path: string) => head(path, 'content-length: 100')],
        ['within the headers', (path: string) => head(path, 'content-length: 100').slice(0, -4)],
        ['before an answer', (path: string) => `${head(path, 'content-length: 2')}{}`],
      ])('%s, ten times', async (_name, textFor) => {
        for (const path of ['/healthz', '/v1/chat/completions', '/mcp', '/sessions', '/nowhere']) {
          for (const text of [textFor(path), textFor(path)]) {
            const answer = await send(text, leave).catch(() => '')
            expect(answer).not.toMatch(/\bat .*:\d+:\d+|file:|node_modules/)
          }
        }
        expect(await healthy()).toBe(200)
      })
    },
  )

  it('answers on when a client goes while a stream comes, ten times', async () => {
    const body = JSON.stringify({
      model: 'orchestrator',
      stream: true,
      messages: [{ role: 'user', content: 'What can you do?' }],
    })
    const text = `${head('/v1/chat/completions', `authorization: Bearer ${server.key}`, 'content-type: application/json', `content-length: ${body.length}`)}${body}`
    for (let n = 0; n < 10; n += 1)
      await send(text, n % 2 === 0 ? 'destroy' : 'reset').catch(() => '')
    expect(await healthy()).toBe(200)
  })

  it('hands on methods, queries, headers, bodies and answers as they are', async () => {
    const options = await fetch(`${server.url}/healthz`, { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
    const none = await fetch(`${server.url}/healthz`, { method: 'HEAD' })
    expect([none.status, await none.text()]).toEqual([200, ''])
    const large = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'x'.repeat(5_000_000) }),
    })
    expect(large.status).toBe(413)
    expect(await large.json()).toMatchObject({ error: { code: 'too_large' } })
    const twice = await send(
      'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /nowhere HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
      'stay',
    )
    expect(twice).toMatch(/^HTTP\/1.1 200 [^]*"ok"}HTTP\/1.1 401 /)
  })

  it('refuses a body too large to be read, and answers on', async () => {
    const told = await send(head('/healthz', 'content-length: 40000000'), 'stay')
    expect(told).toMatch(/^HTTP\/1.1 413 [^]*"code":"too_large"/)
    const text = `${head('/healthz', 'transfer-encoding: chunked')}${`fffff\r\n${'x'.repeat(0xfffff)}\r\n`.repeat(33)}0\r\n\r\n`
    await send(text, 'stay').catch(() => '')
    expect(await healthy()).toBe(200)
  })

  it('P19: hands out skills without a key once its operator has named them, to the byte', async () => {
    const index = `${server.url}/.well-known/agent-skills/index.json`
    expect((await fetch(index)).status).toBe(404)
    const names = ['code-review', 'plugin-authoring']
    const set = await fetch(`${server.url}/api/operator/exposed`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ exposed: { public_skills: names } }),
    })
    expect(set.status).toBe(200)
    const { skills } = (await (await fetch(index)).json()) as Answer
    expect(skills.map(({ name }: Answer) => name)).toEqual(names)
    for (const { name, type, url, digest } of skills) {
      const bytes = new Uint8Array(await (await fetch(new URL(url, index))).arrayBuffer())
      expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(digest)
      const files = type === 'archive' ? unzipSync(bytes) : { 'SKILL.md': bytes }
      for (const [path, one] of Object.entries(files))
        expect(strFromU8(one)).toBe(readFileSync(join('skills', name, path), 'utf8'))
    }
  })

  it('serves no local database to a request without a key', async () => {
    for (const path of [
      '/cdn-cgi/local/explorer',
      '/cdn-cgi/explorer',
      '/cdn-cgi/local/explorer/api',
    ])
      expect((await fetch(`${server.url}${path}`)).status).not.toBe(200)
  })

  it('comes back when its processes are killed, and ends with all of them', async () => {
    const seen = new Set<number>()
    const running = () => treeOf(server.pid).filter((pid) => pid !== server.pid)
    for (const name of ['workerd', 'serve.mjs']) {
      const killed = running().filter((pid) => commandOf(pid).includes(name))
      expect(killed.length).toBeGreaterThan(0)
      for (const pid of killed) process.kill(pid, 'SIGKILL')
      expect(await healthyAgain()).toBe(200)
      for (const pid of running()) seen.add(pid)
    }
    await server.stop()
    expect([...seen].map(commandOf).filter((command) => command !== '')).toEqual([])
  })
})

/** Nothing of a process that ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
