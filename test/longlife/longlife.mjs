// node test/longlife/longlife.mjs [--runs 2000 --mib 100 --turns 1000 --resting 10000 --heap 128 --seed 1 --keep --short]
//
// Sessions that live long, on the local runtime over the real HTTP API: one of `--runs` runs and `--mib` MiB of log is
// opened, listed, paged, exported, continued and deleted; of one that is talked to `--turns` times the rows that a turn
// reads and writes are counted on the way; and `--resting` sessions at rest ask to be woken by nothing before their
// retention, also by a server that was started again. V8 gives every isolate `--heap` MiB (which a request that hoards
// shows at the end), so that a step that holds more dies. `--short` is for `npm test`: sizes and counts decide, no times.
// Last line: `longlife ok` or what is wrong.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, serve, wranglerConfig } from '../../bench/serve.mjs'
import { startModelServer } from '../fakes/model-server.mjs'
import { createRandom, numberOption, operatorKey, sleep } from '../faults/local-server.mjs'
import { openInspector } from './inspector.mjs'

const isShort = process.argv.includes('--short')
const options = {
  runs: numberOption('runs', isShort ? 60 : 2_000),
  mib: numberOption('mib', isShort ? 30 : 100),
  turns: numberOption('turns', isShort ? 24 : 1_000),
  resting: numberOption('resting', isShort ? 10 : 10_000),
  heap: numberOption('heap', isShort ? 40 : 128),
  seed: numberOption('seed', 1),
}
/** The wall clock of a machine that does other things too decides nothing in `npm test`. */
const maxStepMs = isShort ? Infinity : 1_000
/** What an object may read before it lets others have the isolate: two pages of the log, and a row more. */
const maxCharsAtOnce = 12_000_000
const maxRowsAtOnce = 2_500
const restMs = isShort ? 1_000 : 4_000
/** No session runs a timer sooner than this, except within the hour of a session without a name. */
const dayMs = 86_400_000
const random = createRandom(options.seed)
const temp = mkdtempSync(join(tmpdir(), 'isola-longlife-'))
const stateDir = join(temp, 'state')
const wrong = []
const beganMs = performance.now()
const say = (line) =>
  console.log(`${((performance.now() - beganMs) / 1_000).toFixed(0).padStart(4)} s  ${line}`)
const check = (holds, what) => void (holds || wrong.push(what))
const mib = (bytes) => bytes / 1_048_576

let pool = ''
while (pool.length < 1_048_576) pool += `${random.next().toString(36).slice(2)} `
/** Another text each time, of so many characters. */
function textOf(chars) {
  const from = Math.floor(random.next() * (pool.length - 1))
  return `${pool.slice(from)}${pool}`.slice(0, chars)
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
  // Miniflare gives them to workerd.
  process.env.MINIFLARE_WORKERD_V8_FLAGS = `--max-heap-size=${options.heap}`
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

/** @param request.key Names what is asked for: it is done once. */
async function ask(method, path, { json, key, more = {} } = {}) {
  const body = json === undefined ? {} : { body: JSON.stringify(json) }
  const named = key === undefined ? {} : { 'idempotency-key': key }
  const send = () =>
    fetch(`${server.url}${path}`, { method, headers: { ...headers, ...named, ...more }, ...body })
  // A kept connection may be closed just when a request goes out on it: what does nothing twice is asked again.
  const mayRepeat = method === 'GET' || key !== undefined
  const again = (error) => (mayRepeat ? sleep(50).then(send) : Promise.reject(error))
  const response = await send().catch(again).catch(again).catch(again)
  const text = await response.text()
  if (response.ok) return { text, response, json: () => JSON.parse(text) }
  throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
}
const counts = async (query = '') => (await ask('GET', `/__longlife/counts${query}`)).json()

async function together(count, clients, work) {
  let next = 0
  const client = async () => {
    while (next < count) {
      await work((next += 1))
      if (next % 1_000 === 0) say(`${next} of ${count}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(clients, count) }, client))
}

// ---------------------------------------------------------------- turns

/** Resolves when every session is at rest: its timer is the one for its own end. @returns The counts at that time. */
async function quiet() {
  const patienceMs = performance.now() + 60_000
  for (;;) {
    const now = await counts(`?before=${Date.now() + 29 * dayMs}`)
    if (now.due === 0 || performance.now() > patienceMs) return now
    await sleep(50)
  }
}

/** Rows that each of a few turns reads and writes, what follows it in the background included. */
async function rowsPerTurn() {
  const talk = () =>
    ask('POST', '/v1/chat/completions', {
      json: { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] },
      more: { 'x-isola-session': 'talked to' },
    })
  const marks = [10, 100, 1_000].filter((mark) => mark <= options.turns)
  if (isShort) marks.push(options.turns)
  const seen = []
  let turn = 0
  for (const mark of marks) {
    for (; turn < mark - 1; turn += 1) await talk()
    let before = await quiet()
    const figures = []
    for (let count = 0; count < 3; count += 1) {
      await talk()
      turn += 1
      const after = await quiet()
      const per = (name) => after[name] - before[name]
      figures.push(
        `${per('rowsRead')} read ${per('rowsWritten')} written ${per('statements')} statements`,
      )
      before = after
    }
    say(`turn ${mark} and after it: ${figures.join(', ')}`)
    seen.push({ mark, figures })
  }
  const [first] = seen
  for (const { mark, figures } of seen)
    check(
      figures.every((figure) => figure === first.figures[0]),
      `turn ${mark}: ${figures.join(', ')}; turn ${first.mark}: ${first.figures[0]}`,
    )
}

// ---------------------------------------------------------------- one that is large

const table = []
/** Measures how long the object answers no other client, by cheap requests one after the other. */
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

/** One use of the session, with its slowest request and the longest time that the object held the isolate. */
async function step(session, name, work) {
  const before = await counts('?anew')
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
    'most rows at once': after.mostRowsAtOnce,
    'most Mchar at once': Number((after.mostCharsAtOnce / 1e6).toFixed(1)),
  })
  check(mib(peakBytes) <= options.heap, `${name}: ${mib(peakBytes).toFixed(0)} MiB of heap`)
  check(after.mostRowsAtOnce <= maxRowsAtOnce, `${name}: ${after.mostRowsAtOnce} rows at once`)
  check(
    after.mostCharsAtOnce <= maxCharsAtOnce,
    `${name}: ${after.mostCharsAtOnce} characters at once`,
  )
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
  await together(options.runs - 1, 6, (number) =>
    ask('POST', '/v1/responses', {
      key: `large ${number}`,
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

async function restMany(folder) {
  const madeFromMs = performance.now()
  await together(options.resting, 16, (number) =>
    ask('POST', '/v1/chat/completions', {
      json: { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] },
      more: { 'x-isola-session': `rests ${number}` },
      key: `rests ${number}`,
    }),
  )
  const madeS = ((performance.now() - madeFromMs) / 1_000).toFixed(0)
  const now = await quiet()
  const before = await counts()
  await sleep(restMs)
  const after = await counts()
  // Of what is on the disk: timers that are due, or past, would come now.
  await stop()
  await start(folder, true)
  await sleep(restMs)
  const anew = await counts()
  say(
    `${options.resting} sessions at rest (made in ${madeS} s): ${now.alarms} alarms, ${now.due} of them within 29 days; ${after.statements - before.statements} statements in ${restMs / 1000} s, ${anew.objects} objects loaded and ${anew.statements} statements in ${restMs / 1000} s of a server that was started again`,
  )
  check(now.alarms >= options.resting, `only ${now.alarms} sessions have a timer`)
  check(now.due === 0, `${now.due} alarms are due within 29 days`)
  check(after.statements === before.statements, 'sessions at rest do something')
  check(anew.objects === 0 && anew.statements === 0, 'sessions at rest wake when a server starts')
}

/** The limit of the heap is one: who holds more dies. */
async function dieOfHoarding() {
  const answer = await fetch(`${server.url}/__longlife/hoard`).then(
    (response) => response.text(),
    () => 'died',
  )
  check(answer === 'died', `the heap has no limit: ${answer}`)
}

// ---------------------------------------------------------------- all of it

try {
  const { folder } = await build({
    entry: join(import.meta.dirname, 'worker.ts'),
    config: wranglerConfig,
    outDir: join(temp, 'worker'),
  })
  await start(folder, false)
  say('built and started')
  await rowsPerTurn()
  const first = await makeLarge()
  say(`a session of ${options.runs} runs and ${options.mib} MiB is made`)
  await quiet()
  const { id: session } = (await ask('GET', '/api/sessions?limit=1')).json().sessions[0]
  // It is opened by an object that has nothing of it yet.
  await stop()
  await start(folder, true)
  await ask('GET', '/healthz') // the program itself is loaded: that is no step of a session
  say('it is opened by another server')
  await useLarge(session, first)
  console.table(table)
  await restMany(folder)
  await dieOfHoarding()
} finally {
  await stop()
  await model.close()
  if (process.argv.includes('--keep')) console.log(`the data is in ${temp}`)
  else rmSync(temp, { recursive: true, force: true })
}
for (const what of wrong) console.log(`WRONG: ${what}`)
console.log(wrong.length === 0 ? 'longlife ok' : `longlife: ${wrong.length} wrong`)
process.exitCode = wrong.length === 0 ? 0 : 1
