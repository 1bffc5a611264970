import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, startServer, type RunningServer } from './server.ts'

const readme = readFileSync('README.md', 'utf8')
const run = promisify(execFile)

describe('the first minutes, as the README tells them, without a model or a key', () => {
  let server: RunningServer
  const state = mkdtempSync(join(tmpdir(), 'isola-readme-'))

  beforeAll(async () => {
    server = await startServer({ state, port: await freePort() })
  })
  afterAll(async () => {
    await server?.stop()
    rmSync(state, { recursive: true, force: true })
  })

  const headers = () => ({
    authorization: `Bearer ${server.key}`,
    'content-type': 'application/json',
  })
  const ask = async (content: string) => {
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify({ model: 'orchestrator', messages: [{ role: 'user', content }] }),
    })
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
    return { text: choices[0]?.message.content ?? '', trace: response.headers.get('x-isola-trace') }
  }
  /** Names of the tools that were called under a trace, the sub-agents' own included. */
  const toolsCalled = async (trace: string | null, count: number): Promise<string[]> => {
    for (let attempt = 0; ; attempt += 1) {
      const response = await fetch(`${server.url}/api/operator/audit?trace=${trace}&limit=500`, {
        headers: headers(),
      })
      const { records } = (await response.json()) as {
        records: { type: string; data: { tool: string; ok: boolean } }[]
      }
      const done = records.filter(({ type, data }) => type === 'tool_finished' && data.ok)
      if (done.length >= count || attempt === 20) return done.map(({ data }) => data.tool)
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
  }

  it('M2, M6: the curl to paste gets an answer that used a tool and a sub-agent', async () => {
    const body = /-d '(\{.*\})'/.exec(readme)?.[1] ?? ''
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body,
    })
    expect(response.status).toBe(200)
    const session = response.headers.get('x-isola-session')
    expect(await response.text()).toMatch(/files__write.*code-reviewer__run/s)
    const tree = await fetch(`${server.url}/api/sessions/${session}`, {
      headers: { authorization: `Bearer ${server.key}` },
    })
    expect(await tree.json()).toMatchObject({ children: [{ agent: 'code-reviewer' }] })
  })

  it('the ten-line script with the openai package prints such an answer, piece by piece', async () => {
    const { stdout } = await run('node', ['examples/chat.mjs'], {
      env: { ...process.env, ISOLA_URL: server.url, ISOLA_KEY: server.key },
    })
    expect(stdout).toContain('kv__set')
    expect(stdout).toContain('code-reviewer__run')
    expect(stdout).toContain('offline model')
  })

  it('every prompt to try calls what the table says', async () => {
    const rows = [...readme.matchAll(/^\| (?!say|--)(.+) \| (.*`\w.*) \|$/gm)].slice(0, 3)
    expect(rows).toHaveLength(3)
    for (const [, say = '', calls = ''] of rows) {
      const prompt = say.replaceAll('\\`', '`').replace('http://localhost:8787', server.url)
      const { trace } = await ask(prompt)
      const names = [...calls.matchAll(/`([a-z_]+__[a-z_]+)`/g)].map(([, name = '']) => name)
      expect(await toolsCalled(trace, names.length), prompt).toEqual(expect.arrayContaining(names))
    }
  })

  it('says what it is, and refuses a stranger', async () => {
    expect((await ask('What can you do?')).text).toMatch(/offline model/)
    expect((await fetch(`${server.url}/v1/models`)).status).toBe(401)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  })
})
