import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startModelServer } from '../fakes/model-server.mjs'
import { freePort, reach, startServer, treeOf, type RunningServer } from './server.ts'

const state = mkdtempSync(join(tmpdir(), 'isola-e2e-local-'))

/** The open files of these processes, as `/proc` names them. */
function socketsOf(pids: readonly number[]): ReadonlySet<string> {
  const links = pids.flatMap((pid) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).map((fd) => {
        try {
          return readlinkSync(`/proc/${pid}/fd/${fd}`)
        } catch {
          return ''
        }
      })
    } catch {
      return [] // ended meanwhile
    }
  })
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []))
}

const columnsOf = (table: string) =>
  readFileSync(`/proc/net/${table}`, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))

/** Addresses and ports of TCP on which these processes listen. */
function listening(pids: readonly number[]): readonly string[] {
  const own = socketsOf(pids)
  return ['tcp', 'tcp6'].flatMap((table) =>
    columnsOf(table)
      .filter(([, , , status, , , , , , inode = '']) => status === '0A' && own.has(inode))
      .map(([, local = '']) => {
        const [address = '', port = ''] = local.split(':')
        return `${address === '0100007F' ? '127.0.0.1' : address}:${Number.parseInt(port, 16)}`
      }),
  )
}

/** Files on which these processes listen, as sockets. */
function listeningFiles(pids: readonly number[]): readonly string[] {
  const own = socketsOf(pids)
  const isListening = (flags = '') => (Number.parseInt(flags, 16) & 0x10000) !== 0
  return columnsOf('unix').flatMap(([, , , flags, , , inode = '', path]) =>
    path?.startsWith('/') && isListening(flags) && own.has(inode) ? [path] : [],
  )
}

/** `npm start` over a folder of data, until it ends by itself. */
const startAgain = (port: number) =>
  new Promise<{ readonly code: number | string | null | undefined; readonly said: string }>(
    (done) => {
      const env = { ...process.env, ISOLA_STATE: state, PORT: String(port), ISOLA_MODEL: '' }
      execFile(process.execPath, ['scripts/start.mjs'], { env }, (error, stdout, stderr) =>
        done({ code: error?.code ?? 0, said: stdout + stderr }),
      )
    },
  )

describe('npm start is a server on a user’s machine', () => {
  let server: RunningServer
  let port = 0
  let model: Awaited<ReturnType<typeof startModelServer>>
  const whileStarting = new Set<string>()
  const begin = () =>
    startServer({
      state,
      port,
      env: { ISOLA_MODEL: 'openai/fake', OPENAI_API_KEY: 'none', OPENAI_BASE_URL: model.url },
    })
  beforeAll(async () => {
    model = await startModelServer({
      script: () => {
        model.requests.length = 0
        return { text: 'Told in pieces. '.repeat(20), chunkSize: 16, chunkDelayMs: 50 }
      },
    })
    port = await freePort()
    const looking = setInterval(() => {
      const below = treeOf(process.pid).filter((pid) => pid !== process.pid)
      for (const one of listening(below)) whileStarting.add(one)
    }, 50)
    server = await begin()
    clearInterval(looking)
  })
  afterAll(async () => {
    await server?.stop()
    await model?.close()
    rmSync(state, { recursive: true, force: true })
  })
  const headers = () => ({
    authorization: `Bearer ${server.key}`,
    'content-type': 'application/json',
  })
  const ask = (path: string, body: object) =>
    reach(`${server.url}${path}`, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify(body),
    })

  it('B 5: listens on one port, its own, while it starts and when it runs', () => {
    expect([...whileStarting]).toEqual([`127.0.0.1:${port}`])
    expect(listening(treeOf(server.pid))).toEqual([`127.0.0.1:${port}`])
  })

  it('B 5: its parts hear each other over files of a folder that only this account may enter', () => {
    const files = listeningFiles(treeOf(server.pid))
    const names = files.map((path) => path.split('/').at(-1) ?? '')
    expect(new Set(names)).toEqual(new Set(['entry', 'loopback', 'worker:0']))
    for (const folder of new Set(files.map(dirname)))
      expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  it.each([
    '/json',
    '/json/list',
    '/json/version',
    '/core:user:isola',
    '/cdn-cgi/local/platform-proxy',
    '/core/store-temp-file',
    '/cdn-cgi/mf/scheduled',
  ])('B 5: shows no debugger and no tool of development at %s', async (path) => {
    expect((await reach(`${server.url}${path}`)).status).toBe(401)
    expect((await reach(`${server.url}${path}`, { headers: headers() })).status).toBe(404)
  })

  it('B 5: names no key in what a list of processes shows', () => {
    const shown = treeOf(server.pid).map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
    expect(shown.length).toBeGreaterThan(2)
    for (const text of shown) expect(text).not.toContain(server.key)
  })

  it('B 8: keeps in its folder what docs/storage.md names, and no traces', async () => {
    const said = {
      model: 'orchestrator',
      messages: [{ role: 'user', content: 'Hello?key=secret' }],
    }
    expect((await ask('/v1/chat/completions', said)).status).toBe(200)
    const triggered = await reach(`${server.url}/cdn-cgi/handler/scheduled?cron=*+*+*+*+*`)
    expect([triggered.status, await triggered.text()]).toEqual([200, 'ok'])
    const docs = readFileSync('docs/storage.md', 'utf8')
    for (const name of readdirSync(state)) expect(docs).toContain(`\`${name}`)
    const kinds = readdirSync(join(state, 'v3'))
    for (const kind of kinds) {
      expect(docs).toContain(`\`v3/${kind}\``)
      const folders = readdirSync(join(state, 'v3', kind))
      for (const folder of folders)
        expect(docs, `v3/${kind}/${folder}`).toContain(folder.replace(/^isola-/, ''))
    }
    expect(kinds).not.toContain('observability')
  })

  it('F: refuses a second start over the same data, and says which process has it at which port', async () => {
    for (const other of [port, await freePort()]) {
      const { code, said } = await startAgain(other)
      expect(code).toBe(1)
      expect(said).toContain(`process ${server.pid} serves it at http://localhost:${port}`)
      expect(said).toContain('ISOLA_STATE=')
    }
    expect((await reach(`${server.url}/healthz`)).status).toBe(200)
  })

  it('B 12: a picture’s address asks no port of this machine that no operator opened', async () => {
    const png = Buffer.from('\x89PNG\r\n\x1a\n and the rest', 'latin1')
    let asked = 0
    const pictures = createServer((_request, response) => {
      asked += 1
      response.end(png)
    })
    await new Promise<void>((done) => pictures.listen(0, '127.0.0.1', done))
    const host = `127.0.0.1:${(pictures.address() as AddressInfo).port}`
    const chat = (at: string) =>
      ask('/v1/chat/completions', {
        model: 'orchestrator',
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: `http://${at}/a.png` } }],
          },
        ],
      })
    try {
      const answers = await Promise.all([chat(host), chat('127.0.0.1:9')])
      expect(answers.map(({ status }) => status)).toEqual([400, 400])
      const [something, nothing] = await Promise.all(
        answers.map(
          async (answer) => ((await answer.json()) as { error: { message: string } }).error,
        ),
      )
      expect(something?.message).toBe(nothing?.message)
      expect(asked).toBe(0)
      expect((await ask('/api/operator/http', { allow: [host] })).status).toBe(200)
      expect((await chat(host)).status).toBe(200)
      expect(asked).toBe(1)
    } finally {
      pictures.close()
    }
  })

  it('B 13: answers 200 streams side by side, each whole, and is the same process afterwards', async () => {
    const before = treeOf(server.pid)
    const body = JSON.stringify({
      model: 'orchestrator',
      stream: true,
      messages: [{ role: 'user', content: 'Go on.' }],
    })
    const stream = () =>
      new Promise<string>((done, fail) => {
        const url = `${server.url}/v1/chat/completions`
        const sent = request(
          url,
          { method: 'POST', agent: false, headers: headers() },
          (answer) => {
            let text = ''
            answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
            answer.on('error', fail).on('end', () => {
              const isWhole = /"finish_reason":"stop"[^]*data: \[DONE\]\s*$/.test(text)
              done(
                answer.statusCode === 200 && isWhole
                  ? 'whole'
                  : `${answer.statusCode} ${text.slice(-200)}`,
              )
            })
          },
        )
        sent.on('error', fail).end(body)
      })
    const answers = await Promise.all(Array.from({ length: 200 }, stream))
    expect(answers.filter((one) => one !== 'whole')).toEqual([])
    expect(treeOf(server.pid)).toEqual(before)
  })

  it('F: takes the data over from a server that was killed outright', async () => {
    const { pid } = server
    await server.kill()
    expect(readFileSync(join(state, 'lock'), 'utf8')).toContain(`"pid":${pid}`)
    server = await begin()
    expect(server.pid).not.toBe(pid)
    expect((await reach(`${server.url}/api/sessions`, { headers: headers() })).status).toBe(200)
    await server.stop()
    expect(readdirSync(state)).not.toContain('lock')
    server = await begin()
  })
})

it('the folder of sockets has a short name wherever temporary files are kept', async () => {
  const deep = join(state, 'x'.repeat(100))
  mkdirSync(deep, { recursive: true })
  const { makeSocketFolder, socketsIn } = await import('../../scripts/start/sockets.mjs')
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = deep
  try {
    const folder = makeSocketFolder()
    expect(Math.max(...Object.values(socketsIn(folder)).map((path) => path.length))).toBeLessThan(
      104,
    )
    rmSync(folder, { recursive: true })
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmSync(deep, { recursive: true, force: true })
  }
})
