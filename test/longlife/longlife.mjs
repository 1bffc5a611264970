// node test/longlife/longlife.mjs [--runs 2000 --mib 100 --turns 1000 --resting 10000 --seed 1 --keep]
//
// Sessions that live long, on the local runtime over the real HTTP API: one of `--runs` runs and `--mib` MiB of log is
// opened, listed, paged, exported, continued and deleted, with the heap of the isolate read over its inspector; of one
// that is talked to `--turns` times the rows that a turn reads and writes are counted on the way; and `--resting`
// sessions at rest ask to be woken by nothing before their retention. Last line: `longlife ok` or what is wrong.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, serve, wranglerConfig } from '../../bench/serve.mjs'
import { startModelServer } from '../fakes/model-server.mjs'
import { createRandom, numberOption, operatorKey, sleep } from '../faults/local-server.mjs'
import { openInspector } from './inspector.mjs'

const options = {
  runs: numberOption('runs', 2_000),
  mib: numberOption('mib', 100),
  turns: numberOption('turns', 1_000),
  resting: numberOption('resting', 10_000),
  seed: numberOption('seed', 1),
}
const maxHeapMiB = 128
const maxStepMs = 1_000
const restMs = 4_000
/** No session looks after itself sooner than this, but in the hour of one that nobody named. */
const dayMs = 86_400_000
const random = createRandom(options.seed)
const temp = mkdtempSync(join(tmpdir(), 'isola-longlife-'))
const stateDir = join(temp, 'state')
const wrong = []
const check = (holds, what) => void (holds || wrong.push(what))
const mib = (bytes) => bytes / 1_048_576

/** Text that says nothing twice, of so many characters. */
function textOf(chars) {
  let text = ''
  while (text.length < chars) text += `${random.next().toString(36).slice(2)} `
  return text.slice(0, chars)
}

let answerChars = 10
const model = await startModelServer({
  script() {
    model.requests.length = 0 // the fake keeps every body
    return { text: textOf(answerChars) }
  },
  chunkSize: 65_536,
})
const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }
let server
let inspector

async function freePort() {
  const probe = createServer()
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return port
}

async function start(folder, isMigrated) {
  const inspectorPort = await freePort()
  const vars = {
    ISOLA_OPERATOR_KEY: operatorKey,
    ISOLA_ENV: 'development',
    ISOLA_MODEL: 'openai/fake',
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'sk',
  }
  server = await serve({
    folder,
    config: wranglerConfig,
    vars,
    stateDir,
    inspectorPort,
    isMigrated,
  })
  inspector = await openInspector(`http://127.0.0.1:${inspectorPort}`)
}
async function stop() {
  inspector?.close()
  await server?.close()
  server = undefined
}

async function ask(method, path, { json, more = {} } = {}) {
  const body = json === undefined ? {} : { body: JSON.stringify(json) }
  const send = () =>
    fetch(`${server.url}${path}`, { method, headers: { ...headers, ...more }, ...body })
  // A kept connection may be closed just when a request goes out on it: what reads is asked again.
  const response = await send().catch((error) => {
    if (method === 'GET') return send()
    throw error
  })
  const text = await response.text()
  if (response.ok) return { text, response, json: () => JSON.parse(text) }
  throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
}
const counts = async (query = '') => (await ask('GET', `/__longlife/counts${query}`)).json()

async function together(count, clients, work) {
  let next = 0
  const client = async () => {
    while (next < count) await work((next += 1))
  }
  await Promise.all(Array.from({ length: Math.min(clients, count) }, client))
}

// ---------------------------------------------------------------- turns

/** Rows that a turn reads and writes, on average of a few around the n-th, what follows it in the background included. */
async function rowsPerTurn() {
  const say = () =>
    ask('POST', '/v1/chat/completions', {
      json: { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] },
      more: { 'x-isola-session': 'talked to' },
    })
  const measured = 4
  const figures = []
  const marks = [10, 100, 1_000].filter((mark) => mark <= options.turns)
  let turn = 0
  for (const mark of marks) {
    while (turn < mark) {
      await say()
      turn += 1
    }
    await sleep(restMs)
    const before = await counts()
    for (let count = 0; count < measured; count += 1) {
      await say()
      turn += 1
    }
    await sleep(restMs)
    const after = await counts()
    const per = (name) => (after[name] - before[name]) / measured
    const figure = { turn: mark, read: per('rowsRead'), written: per('rowsWritten') }
    figures.push({ ...figure, statements: per('statements') })
    console.log(
      `turn ${mark}: ${figure.read} rows read, ${figure.written} written, ${per('statements')} statements a turn`,
    )
  }
  const [first] = figures
  for (const { turn: at, read, written } of figures.slice(1)) {
    check(read <= first.read + 2, `turn ${at} reads ${read} rows, turn ${first.turn} ${first.read}`)
    check(written <= first.written + 1, `turn ${at} writes ${written} rows`)
  }
}

// ---------------------------------------------------------------- one that is large

const table = []
/** How long the object answers nobody else: a request that needs next to nothing is made again and again. */
function holdsOf(session) {
  let isDone = false
  let mostMs = 0
  const path = `/api/sessions/${session}/events?follow=false&cursor=999999999`
  const look = async () => {
    while (!isDone) {
      const beganMs = performance.now()
      // Once it is deleted there is nothing more to ask; a kept connection may be closed just when a request goes out.
      const response = await fetch(`${server.url}${path}`, { headers }).catch(() => undefined)
      await response?.text().catch(() => {})
      mostMs = Math.max(mostMs, performance.now() - beganMs)
      await sleep(20)
    }
  }
  const looking = look()
  return {
    async most() {
      isDone = true
      await looking
      return mostMs
    },
  }
}

/** One thing that somebody does with the session, with how long its slowest request took and the object was held. */
async function step(session, name, work) {
  const before = await counts()
  const figures = { requests: 0, slowestMs: 0, bytes: 0 }
  const timed = async (...request) => {
    const beganMs = performance.now()
    const answer = await ask(...request)
    figures.requests += 1
    figures.slowestMs = Math.max(figures.slowestMs, performance.now() - beganMs)
    figures.bytes += answer.text.length
    return answer
  }
  const held = holdsOf(session)
  const { value, peakBytes } = await inspector.during(() => work(timed))
  const heldMs = await held.most()
  const after = await counts()
  const { requests, slowestMs, bytes } = figures
  table.push({
    step: name,
    requests,
    'slowest ms': Math.round(slowestMs),
    'held ms': Math.round(heldMs),
    'peak heap MiB': Number(mib(peakBytes).toFixed(1)),
    'MiB told': Number(mib(bytes).toFixed(1)),
    'rows read': after.rowsRead - before.rowsRead,
    'rows written': after.rowsWritten - before.rowsWritten,
  })
  check(mib(peakBytes) <= maxHeapMiB, `${name}: ${mib(peakBytes).toFixed(0)} MiB of heap`)
  check(heldMs <= maxStepMs, `${name}: nobody else was answered for ${Math.round(heldMs)} ms`)
  return value
}

/** Each goes on from the first response, so that no prompt is long. */
async function makeLarge() {
  const half = Math.round((options.mib * 1_048_576) / options.runs / 2)
  const first = (
    await ask('POST', '/v1/responses', { json: { model: 'orchestrator', input: 'Begin.' } })
  ).json()
  answerChars = half
  await together(options.runs - 1, 4, () =>
    ask('POST', '/v1/responses', {
      json: { model: 'orchestrator', input: textOf(half), previous_response_id: first.id },
    }),
  )
  answerChars = 10
  return first
}

async function useLarge(session, first) {
  const path = `/api/sessions/${session}`
  let runs = 0
  await step(session, 'open', (timed) => timed('GET', path))
  await step(session, 'list', (timed) => timed('GET', '/api/sessions?limit=100'))
  await step(session, 'page its runs', async (timed) => {
    for (let query = ''; query !== undefined;) {
      const { runs: some, earlier } = (await timed('GET', `${path}${query}`)).json()
      runs += some.length
      query = earlier === undefined ? undefined : `?before=${earlier}`
    }
  })
  check(runs === options.runs, `${runs} runs are listed`)
  let asked = 0
  await step(session, 'export its transcript', async (timed) => {
    for (let query = ''; query !== undefined;) {
      const { messages, next } = (await timed('GET', `${path}/transcript${query}`)).json()
      asked += messages.filter(({ role }) => role === 'user').length
      query = next === undefined ? undefined : `?after=${next}`
    }
  })
  check(asked === options.runs, `${asked} messages are in the transcript`)
  const seqs = await step(session, 'export its events', () =>
    readEvents(`${path}/events?follow=false`),
  )
  check(seqs.at(-1) === seqs.length, `${seqs.length} events up to ${seqs.at(-1)}`)
  const half = Math.floor(seqs.length / 2)
  const rest = await step(session, 'export half of them', () =>
    readEvents(`${path}/events?follow=false&cursor=${half}`),
  )
  check(rest.length === seqs.length - half, `${rest.length} events from the middle on`)
  await step(session, 'continue', (timed) =>
    timed('POST', '/v1/responses', {
      json: { model: 'orchestrator', input: 'Go on.', previous_response_id: first.id },
    }),
  )
  await step(session, 'delete', (timed) => timed('DELETE', path))
  await sleep(restMs)
  const gone = await fetch(`${server.url}${path}`, { headers })
  check(gone.status === 404, `a deleted session is answered with ${gone.status}`)
}

/** The places of the events, as they come. */
async function readEvents(path) {
  const response = await fetch(`${server.url}${path}`, { headers })
  const seqs = []
  let left = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body) {
    const lines = (left + decoder.decode(chunk, { stream: true })).split('\n')
    left = lines.pop()
    for (const line of lines) if (line.startsWith('id: ')) seqs.push(Number(line.split(':').at(-1)))
  }
  return seqs
}

// ---------------------------------------------------------------- many at rest

async function restMany() {
  await together(options.resting, 8, (number) =>
    ask('POST', '/v1/chat/completions', {
      json: { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] },
      more: { 'x-isola-session': `rests ${number}` },
    }),
  )
  const soon = () => counts(`?before=${Date.now() + 29 * dayMs}`)
  const patienceMs = performance.now() + 60_000
  let now = await soon()
  while (now.due > 0 && performance.now() < patienceMs) {
    await sleep(1_000)
    now = await soon()
  }
  const before = await counts()
  await sleep(restMs)
  const after = await counts()
  console.log(
    `${options.resting} sessions at rest: ${now.alarms} alarms, ${now.due} of them within 29 days; ${after.statements - before.statements} statements in ${restMs / 1000} s`,
  )
  check(now.alarms >= options.resting, `only ${now.alarms} sessions have a timer`)
  check(now.due === 0, `${now.due} alarms are due within 29 days`)
  check(after.statements === before.statements, 'sessions at rest do something')
}

// ---------------------------------------------------------------- all of it

try {
  const { folder } = await build({
    entry: join(import.meta.dirname, 'worker.ts'),
    config: wranglerConfig,
    outDir: join(temp, 'worker'),
  })
  await start(folder, false)
  await rowsPerTurn()
  const first = await makeLarge()
  const { id: session } = (await ask('GET', '/api/sessions?limit=1')).json().sessions[0]
  await sleep(restMs)
  // It is opened by an object that has nothing of it yet.
  await stop()
  await start(folder, true)
  await ask('GET', '/healthz') // the program itself is loaded: that is no step of a session
  await useLarge(session, first)
  console.table(table)
  await restMany()
} finally {
  await stop()
  await model.close()
  if (process.argv.includes('--keep')) console.log(`the data is in ${temp}`)
  else rmSync(temp, { recursive: true, force: true })
}
for (const what of wrong) console.log(`WRONG: ${what}`)
console.log(wrong.length === 0 ? 'longlife ok' : `longlife: ${wrong.length} wrong`)
process.exitCode = wrong.length === 0 ? 0 : 1
