import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Answer } from '../fakes/client.ts'
import { exampleScript } from '../fakes/examples/models.ts'
import { startSites } from '../fakes/examples/sites.ts'
import { startModelServer } from '../fakes/model-server.mjs'
import { freePort, reach, startServer, type RunningServer } from './server.ts'

/** A server with a model that plays the examples, the sites that they ask, and the command. */
export async function startExamples() {
  const state = mkdtempSync(join(tmpdir(), 'isola-examples-'))
  const model = await startModelServer({ script: exampleScript() })
  const sites = await startSites()
  const port = await freePort()
  const start = () =>
    startServer({
      state,
      port,
      env: {
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'sk-loopback',
        ISOLA_MODEL: 'openai/scripted',
      },
    })
  let server: RunningServer = await start()

  /** One command line in a process of its own. */
  async function isola(args: readonly string[], input = '', key?: string) {
    const child = spawn(process.execPath, ['scripts/isola.mjs', ...args], {
      env: {
        ...process.env,
        ISOLA_URL: '',
        ISOLA_KEY: key,
        PORT: String(port),
        ISOLA_STATE: state,
      },
    })
    const said = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()))
    child.stdin.end(input)
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { code, ...said }
  }

  /** The same, which must succeed. */
  async function done(args: readonly string[], input = ''): Promise<string> {
    const { code, stdout, stderr } = await isola(args, input)
    if (code !== 0)
      throw new Error(`isola ${args.join(' ')} ended with ${code}:\n${stderr}${stdout}`)
    return stdout
  }

  async function api(path: string, json?: unknown): Promise<Answer> {
    const response = await reach(`${server.url}${path}`, {
      method: json === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }

  return {
    model,
    sites,
    isola,
    done,
    json: async (args: readonly string[]): Promise<Answer> =>
      JSON.parse(await done([...args, '--json'])),
    api,
    /** A power cut, and the server again. */
    async cut() {
      await server.kill()
      server = await start()
    },
    async stop() {
      await server.stop()
      await model.close()
      await sites.close()
      rmSync(state, { recursive: true, force: true })
    },
  }
}
