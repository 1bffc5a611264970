// The copy as `npm start` serves it, and what is asked of it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseVars } from '../dev-vars.mjs'
import { toolEnv, toolNode } from '../toolchain.mjs'

const patienceMs = 300_000
const quietMs = 2_500
const consoleMs = 500

/** Starts it on a free port of loopback, with a state folder of its own and the model server at `modelUrl`. */
export async function startServer(folder, modelUrl) {
  const { staleReason } = await import(pathToFileURL(join(folder, 'scripts', 'toolchain.mjs')).href)
  const reason = staleReason()
  // The copy would install its own, over its links to the product's.
  if (reason) throw new Error(`The product has not the packages that it wants: ${reason}.`)
  const child = spawn(toolNode(), ['--no-warnings', join(folder, 'scripts', 'start.mjs')], {
    cwd: folder,
    env: toolEnv({
      PORT: '0',
      ISOLA_STATE: join(folder, '.wrangler', 'state'),
      ISOLA_MODEL: 'openai/walk',
      OPENAI_BASE_URL: modelUrl,
      OPENAI_API_KEY: 'sk-walk',
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const entered = []
  child.stderr.on('data', (chunk) => {
    for (const [, id] of String(chunk).matchAll(/@@walk (\d+)/g)) entered.push(Number(id))
  })
  const url = await addressOf(child)
  const { ISOLA_OPERATOR_KEY: operatorKey } = parseVars(
    readFileSync(join(folder, '.dev.vars'), 'utf8'),
  )
  return { ...createClient(url, operatorKey, entered), stop: () => stop(child) }
}

async function stop(child) {
  const ended = child.exitCode === null ? once(child, 'exit') : undefined
  child.kill('SIGTERM')
  await ended
}

function addressOf(child) {
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers()
  const read = (chunk) => {
    output += chunk
    const [, url] = /Isola is running\.\s+URL\s+(\S+)/.exec(output) ?? []
    if (url) resolve(url)
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  child.once('exit', () => reject(new Error(`The server ended before it was ready:\n${output}`)))
  const timer = setTimeout(() => {
    child.kill('SIGTERM')
    reject(new Error(`The server was not ready in time:\n${output}`))
  }, patienceMs)
  return promise.finally(() => clearTimeout(timer))
}

/** @param entered Functions that were entered in isolates, in order. */
function createClient(url, operatorKey, entered) {
  async function request(path, { body, key = operatorKey } = {}) {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 500)}`)
    return JSON.parse(text)
  }
  /** Waits until no function has been entered for a while: the work that follows an answer has ended. */
  async function untilQuiet(isDone = () => true) {
    const { count } = await request('/__walk')
    await new Promise((resolve) => setTimeout(resolve, quietMs))
    const later = await request('/__walk')
    if (later.count !== count || !isDone()) await untilQuiet(isDone)
  }
  /** Records while `work` runs, which begins in a quiet server; `isDone` tells when it has ended. */
  async function record(work, isDone) {
    await request('/__walk?start')
    await untilQuiet()
    await request('/__walk?start')
    entered.length = 0
    await work()
    if (isDone) await untilQuiet(isDone)
    const recording = await request('/__walk?stop')
    // The console takes another way than the answer.
    await new Promise((resolve) => setTimeout(resolve, consoleMs))
    return { ...recording, inIsolates: [...entered] }
  }
  return { request, record }
}
