// `npm start`'s program in a process of its own, on a free port, with its data in a folder that is thrown away.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/toolchain.mjs'
import { parseVars } from '../../scripts/dev-vars.mjs'
import { giveDatabase } from '../e2e/migrated.mjs'

const patienceMs = 240_000

export function freePort() {
  const { promise, resolve } = Promise.withResolvers()
  const server = createServer()
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address()
    server.close(() => resolve(port))
  })
  return promise
}

/** @returns its URL, the operator's key, and `stop()`, which also deletes its data. */
export async function startLocalServer() {
  const state = mkdtempSync(join(tmpdir(), 'isola-mcp-suite-'))
  giveDatabase(state)
  const port = await freePort()
  const model = { OPENAI_API_KEY: '', OPENAI_BASE_URL: '', ISOLA_MODEL: '', ISOLA_PROVIDERS: '' }
  const child = spawn(process.execPath, [join(root, 'scripts', 'start.mjs')], {
    cwd: root,
    env: { ...process.env, ...model, PORT: String(port), ISOLA_STATE: state },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    rmSync(state, { recursive: true, force: true })
  }
  await ready(child, exited).catch(async (error) => {
    await stop()
    throw error
  })
  const vars = parseVars(readFileSync(join(root, '.dev.vars'), 'utf8'))
  return { url: `http://127.0.0.1:${port}`, key: vars.ISOLA_OPERATOR_KEY, stop }
}

async function ready(child, exited) {
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers()
  const look = (chunk) => {
    output += chunk
    if (output.includes('Isola is running')) resolve()
  }
  child.stdout.on('data', look)
  child.stderr.on('data', look)
  const fail = (why) => reject(new Error(`The server ${why}:\n${output}`))
  exited.then(() => fail('ended before it was ready'))
  const timer = setTimeout(() => fail('was not ready in time'), patienceMs)
  await promise.finally(() => clearTimeout(timer))
}
