// The load client: three systems that answer the same task, and the statistics.
import { fork } from 'node:child_process'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { root } from '../scripts/toolchain.mjs'

// A connection that rested this long is not used again: the server may be closing it just then.
const agent = new Agent({ keepAlive: true, maxSockets: 256, noDelay: true, timeout: 3_000 })

/** One POST. @returns the body, and the milliseconds to the first content delta and to the end. */
export function post(url, headers, body) {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now()
    const options = {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-length': body.length },
    }
    const request = httpRequest(url, options, (response) => {
      let text = ''
      let firstMs
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
        if (firstMs === undefined && /"content":"[^"]/.test(text))
          firstMs = performance.now() - startedMs
      })
      response.on('end', () => {
        const totalMs = performance.now() - startedMs
        if (response.statusCode === 200) return resolve({ text, firstMs, totalMs })
        reject(new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 500)}`))
      })
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** A Worker that speaks `POST /v1/chat/completions` with a named session. */
export function createClient(url, headers) {
  return {
    run: (session, { task, stream }) => {
      const body = { model: 'orchestrator', messages: [{ role: 'user', content: task }], stream }
      return post(
        `${url}/v1/chat/completions`,
        { ...headers, 'content-type': 'application/json', 'x-isola-session': session },
        Buffer.from(JSON.stringify(body)),
      )
    },
  }
}

/** Sends what a run of Isola sent to the model, call after call, without anything in between. */
export async function replay(modelUrl, bodies) {
  const startedMs = performance.now()
  let first
  for (const body of bodies) {
    const sentMs = performance.now() - startedMs
    const { firstMs } = await post(
      `${modelUrl}/chat/completions`,
      { 'content-type': 'application/json' },
      body,
    )
    if (firstMs !== undefined) first ??= sentMs + firstMs
  }
  return { firstMs: first, totalMs: performance.now() - startedMs }
}

/** The scripted model in a process of its own. */
export async function startModel() {
  const child = fork(join(root, 'bench', 'model-process.mjs'), { cwd: root })
  const waiting = new Map()
  let count = 0
  const answerTo = (id) => new Promise((resolve) => waiting.set(id, resolve))
  const gone = new Promise((_, reject) => {
    child.once('exit', () => reject(new Error('the model process ended')))
  })
  gone.catch(() => {})
  child.on('message', ({ id, value }) => waiting.get(id)?.(value))
  const url = await Promise.race([answerTo(0), gone])
  return {
    url,
    ask(ask, value) {
      count += 1
      const answered = answerTo(count)
      child.send({ id: count, ask, value })
      return Promise.race([answered, gone])
    },
    close() {
      child.disconnect()
      agent.destroy()
    },
  }
}

export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

export const median = (values) => percentile(values, 0.5)

/** mulberry32: small, seeded, good enough to shuffle. */
export function createRandom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function shuffled(items, random) {
  const rest = [...items]
  const order = []
  while (rest.length > 0) order.push(...rest.splice(Math.floor(random() * rest.length), 1))
  return order
}
