// node test/faults/retries.mjs [--requests 10000 --copies 10 --seed 1 --clients 32 --keep]
//
// Every logical request is sent many times under its Idempotency-Key: at once, out of order, long after it was done
// and after the server was killed; some with another body. Each takes effect once and all its copies are answered
// alike, byte for byte. Last line: `retries N effects-doubled 0 replies-differing 0`.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEffectServer, startModelServer } from '../fakes/model-server.mjs'
import {
  buildWorker,
  createRandom,
  numberOption,
  operatorKey,
  policyFor,
  sleep,
  startServer,
} from './local-server.mjs'

const options = {
  requests: numberOption('requests', 10_000),
  copies: numberOption('copies', 10),
  seed: numberOption('seed', 1),
  clients: numberOption('clients', 32),
}
const keepsData = process.argv.includes('--keep')
const maxPerSession = 6
const random = createRandom(options.seed)
const temp = mkdtempSync(join(tmpdir(), 'isola-retries-'))
const stateDir = join(temp, 'state')

// ---------------------------------------------------------------- what is outside: model and effects

const logicals = []
const marker = /\[r(\d+)(c?) (\w+)\]/
const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')

const model = await startModelServer({
  script({ body: { messages: said } }) {
    model.requests.length = 0 // the fake keeps every body
    const asked = said.findLastIndex(({ role }) => role === 'user')
    const [, number, child, plan] = marker.exec(textOf(said[asked]?.content)) ?? []
    const logical = logicals[number]
    if (!logical) return { text: 'Which request is this?' }
    logical.modelCalls += 1
    const delayMs = random.chance(0.2) ? random.int(50, 400) : random.int(2, 25)
    if (plan === 'fail') return { status: 400, delayMs }
    const step = said.slice(asked).filter(({ role }) => role === 'assistant').length
    const calls = step === 0 && child === '' ? callsOf(plan, number) : []
    const text = `This is what came of ${number}${child} at step ${step}, told in several pieces.`
    if (calls.length > 0) return { ...(random.chance(0.5) && { text }), toolCalls: calls, delayMs }
    return { text, delayMs, chunkSize: 9, chunkDelayMs: random.chance(0.3) ? 8 : 0 }
  },
})
const effects = await startEffectServer()

/** The calls of a plan's first turn. */
function callsOf(plan, number) {
  const kv = { name: 'kv__set', arguments: { key: `r${number}`, value: Number(number) } }
  const url = `${effects.url}/slow?ms=${random.int(0, 40)}&call=${number}`
  const post = { name: 'http__request', arguments: { method: 'POST', url, body: 'once' } }
  const task = `Review this. [r${number}c plain]`
  const agent = { name: 'code-reviewer__run', arguments: { task } }
  return { kv: [kv], post: [post], agent: [agent] }[plan] ?? []
}
const modelCallsOf = { none: 0, plain: 1, fail: 1, kv: 2, post: 2, agent: 3 }

// ---------------------------------------------------------------- the logical requests

let server
const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }

async function post(path, json, more) {
  const body = JSON.stringify(json)
  const all = { ...headers, ...more }
  const response = await fetch(`${server.url}${path}`, { method: 'POST', headers: all, body })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function getJson(path) {
  const get = () => fetch(`${server.url}${path}`, { headers })
  // A kept connection may be closed just when the next request goes out on it.
  const response = await get().catch(get)
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status}`)
  return response.json()
}

const routes = [
  'create',
  'runs',
  'runs wait',
  'chat',
  'chat stateless',
  'stream',
  'stream stateless',
]
const open = { api: undefined, named: undefined }

/** Several requests share a session, so that they also meet each other there. */
async function sessionFor(kind) {
  if (!open[kind] || open[kind].count >= maxPerSession) {
    const name = `retries-${options.seed}-${logicals.length}`
    const made = kind === 'api' ? JSON.parse((await post('/api/sessions', {})).text).id : undefined
    open[kind] = { count: 0, id: made, name }
    if (made) sessions.add(made)
  }
  open[kind].count += 1
  return open[kind]
}
const sessions = new Set()

async function defineRequest(number) {
  const route = routes[number % routes.length]
  const plan =
    route === 'create'
      ? 'none'
      : random.weighted([
          [50, 'plain'],
          [15, 'kv'],
          [15, 'post'],
          [12, 'agent'],
          [8, 'fail'],
        ])
  const isNamed = route === 'chat' || route === 'stream'
  const isRun = route.startsWith('runs')
  const session = isRun ? await sessionFor('api') : isNamed ? await sessionFor('named') : undefined
  // A key is of one route (and session): POST /api/sessions and a chat may use the same one.
  const key = `retry-${options.seed}-${Math.floor(number / routes.length)}`
  return {
    number,
    route,
    plan,
    session,
    key:
      route === 'create' || route === 'stream stateless' ? key : `${key}-${number % routes.length}`,
    modelCalls: 0,
    replies: [],
    refusals: [],
  }
}

/** The same request each time; `isOther` changes its body and nothing else. */
function send({ number, route, plan, session, key }, isOther) {
  const more = { 'idempotency-key': key }
  const task = `Do it${isOther ? ' otherwise' : ''}. [r${number} ${plan}]`
  if (route === 'create') {
    const agent = (number % 2 === 0) === isOther ? 'orchestrator' : 'code-reviewer'
    return post('/api/sessions', { agent }, more)
  }
  if (route.startsWith('runs')) {
    const wait = route === 'runs wait'
    return post(`/api/sessions/${session.id}/runs`, { task, ...(wait && { wait }) }, more)
  }
  const stream = route.startsWith('stream')
  return post(
    '/v1/chat/completions',
    {
      model: 'orchestrator',
      messages: [{ role: 'user', content: task }],
      ...(stream && { stream, stream_options: { include_usage: true } }),
    },
    { ...more, ...(session && { 'x-isola-session': session.name }) },
  )
}

/** When each copy is sent: some at the same moment as their first, some later, some after all is over. */
function scheduleOf() {
  const early = []
  const late = []
  for (const logical of logicals) {
    const others = random.chance(0.3) ? random.int(1, 2) : 0
    for (let copy = 0; copy < options.copies; copy += 1) {
      const isOther = copy >= options.copies - others
      const isLate = copy > 0 && random.chance(0.3)
      const spread = random.pick([0, 0, 4, 20, 200])
      const at = logical.number + random.next() * spread
      ;(isLate ? late : early).push({ logical, isOther, isLate, at })
    }
  }
  const inOrder = (list) => list.sort((a, b) => a.at - b.at)
  return { early: inOrder(early), late: random.shuffled(late) }
}

async function sendAll(copies) {
  const waiting = [...copies].reverse()
  const client = async () => {
    for (let copy = waiting.pop(); copy; copy = waiting.pop()) {
      const { logical, isOther } = copy
      // Of two bodies the first one counts: which that is must be settled before the other is sent.
      if (isOther && logical.replies.length === 0) {
        if (waiting.length > 0) waiting.splice(random.int(0, waiting.length - 1), 0, copy)
        else waiting.push(copy)
        await sleep(5)
        continue
      }
      // No answer, or not now: what a client then does is the very thing that is tried here.
      const reply = await send(logical, isOther).catch(() => ({ status: 503 }))
      if (reply.status === 429 || reply.status === 503) {
        refused += 1
        waiting.splice(Math.floor(waiting.length / 2), 0, copy)
        await sleep(100)
        continue
      }
      answered += 1
      logical[isOther ? 'refusals' : 'replies'].push({ ...reply, isReplay: copy.isLate })
    }
  }
  await Promise.all(Array.from({ length: options.clients }, client))
}
let answered = 0
let refused = 0

// ---------------------------------------------------------------- what must be so

const differing = new Map()
const doubled = []
const cut = { streams: 0, otherwise: 0 }
const differs = (logical, field, a, b) => {
  const name = `${logical.route}: ${field}`
  const entry = differing.get(name) ?? { count: 0, example: [logical, a, b] }
  differing.set(name, { ...entry, count: entry.count + 1 })
}

/** An answer as it is compared: all of it, but for where a stream is cut into pieces. */
function readReply({ route }, { status, text, isReplay }) {
  if (!route.startsWith('stream') || status !== 200) return { status, body: text, pieces: '' }
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  const chunks = []
  for (const line of lines) {
    const chunk = line === 'data: [DONE]' ? undefined : JSON.parse(line.slice(6))
    const before = chunks.at(-1)
    if (isContent(chunk) && isContent(before)) {
      before.choices[0].delta.content += chunk.choices[0].delta.content
    } else chunks.push(chunk ?? '[DONE]')
  }
  const body = chunks.map((chunk) => JSON.stringify(chunk)).join('\n')
  return { status, body, pieces: lines.join('\n'), isReplay }
}
const isContent = (chunk) =>
  typeof chunk?.choices?.[0]?.delta?.content === 'string' &&
  !('role' in chunk.choices[0].delta) &&
  chunk.choices[0].finish_reason === null

function compareReplies(logical) {
  const [first, ...rest] = logical.replies.map((reply) => readReply(logical, reply))
  // A replay after the end has no reason to come in other pieces.
  const whole = [first, ...rest].filter(({ isReplay }) => isReplay)
  for (const next of whole) {
    if (next.pieces !== whole[0].pieces) differs(logical, 'pieces of a replay', whole[0], next)
  }
  for (const next of rest) {
    if (next.status !== first.status) differs(logical, 'status', first, next)
    else if (next.body !== first.body) {
      for (const field of fieldsApart(first.body, next.body)) differs(logical, field, first, next)
    }
    if (first.pieces !== '') {
      cut.streams += 1
      if (next.pieces !== first.pieces) cut.otherwise += 1
    }
  }
  // The request id of a refusal is of that request, as in its header.
  const shown = logical.refusals.map(({ status, text }) => {
    const { error } = JSON.parse(text)
    return JSON.stringify({ status, error: { ...error, request_id: undefined } })
  })
  for (const [at, { status, text }] of logical.refusals.entries()) {
    const { code } = JSON.parse(text).error ?? {}
    if (status !== 422 || code !== 'idempotency_mismatch') {
      differs(logical, 'another body is not refused', { status: 422 }, { status, body: text })
    } else if (shown[at] !== shown[0]) differs(logical, 'refusal', shown[0], shown[at])
  }
}

/** The paths at which two JSON texts, or two lists of them, are not the same. */
function fieldsApart(a, b) {
  const parse = (text) => {
    try {
      return text.split('\n').map((line) => JSON.parse(line))
    } catch {
      return text
    }
  }
  const found = new Set()
  const walk = (x, y, path) => {
    if (JSON.stringify(x) === JSON.stringify(y)) return
    const isDeep = typeof x === 'object' && typeof y === 'object' && x && y
    if (!isDeep || Array.isArray(x) !== Array.isArray(y)) return void found.add(path || 'body')
    if (Array.isArray(x) && x.length !== y.length) return void found.add(`${path}.length`)
    for (const key of new Set([...Object.keys(x), ...Object.keys(y)])) {
      walk(x[key], y[key], Array.isArray(x) ? `${path}[]` : `${path}.${key}`)
    }
  }
  walk(parse(a), parse(b), '')
  return found.size > 0 ? found : new Set(['order of fields'])
}

const twice = (logical, what) => doubled.push(`r${logical.number} (${logical.route}): ${what}`)

/** What the replies say was made: each copy must name the same. */
function checkNamed(logical) {
  const ids = logical.replies.map(({ status, headers: got, text }) => {
    if (logical.route === 'create') return status === 201 ? JSON.parse(text).id : `${status}`
    if (!logical.route.startsWith('runs')) return got.get('x-isola-run') ?? `${status}`
    const body = JSON.parse(text)
    return body.run ?? body.id ?? `${status}`
  })
  const known = new Set(ids)
  if (known.size !== 1) twice(logical, `${known.size} made: ${[...known].slice(0, 3).join(' ')}`)
  if (logical.route === 'create') for (const id of known) sessions.add(id)
  if (logical.route.startsWith('chat') || logical.route.startsWith('stream'))
    for (const { headers: got } of logical.replies) {
      const id = got.get('x-isola-session')
      logical.at = id
      sessions.add(id)
    }
  if (logical.route.startsWith('runs')) logical.at = logical.session.id
  logical.run = ids[0]
}

/** Every effect of a request, where it shows: the transcript, the runs, the model, the upstream, the sub-agents. */
async function checkEffects() {
  const delivered = new Map()
  for (const { query } of effects.requests)
    delivered.set(query.call, (delivered.get(query.call) ?? 0) + 1)
  const asked = logicals.filter(({ route }) => route !== 'create')
  for (const [id, own] of Map.groupBy(asked, ({ at }) => at)) {
    const { messages } = await getJson(`/api/sessions/${id}/transcript`)
    const tree = await getJson(`/api/sessions/${id}`)
    const users = messages.filter(({ role }) => role === 'user').map(({ text }) => text)
    for (const child of tree.children) {
      sessions.add(child.id)
      if (child.runs.length !== 1) doubled.push(`${child.id}: ${child.runs.length} runs`)
    }
    for (const logical of own) {
      const times = users.filter((text) => marker.exec(text)?.[1] === String(logical.number)).length
      if (times !== 1) twice(logical, `${times} messages in the transcript`)
      if (tree.runs.filter(({ id: run }) => run === logical.run).length !== 1)
        twice(logical, 'runs')
    }
    if (tree.runs.length !== own.length) {
      doubled.push(`${id}: ${tree.runs.length} runs of ${own.length} requests`)
    }
    const children = own.filter(({ plan }) => plan === 'agent').length
    if (tree.children.length !== children) {
      doubled.push(`${id}: ${tree.children.length} sub-agents instead of ${children}`)
    }
  }
  for (const logical of logicals) {
    const { number, plan, modelCalls } = logical
    if (modelCalls !== modelCallsOf[plan]) {
      twice(logical, `${modelCalls} model calls instead of ${modelCallsOf[plan]} (${plan})`)
    }
    const times = delivered.get(String(number)) ?? 0
    if (times !== (plan === 'post' ? 1 : 0)) twice(logical, `delivered ${times} times`)
  }
  const objects = sessionObjects()
  if (objects.length !== sessions.size) {
    doubled.push(`${objects.length} session objects hold data, ${sessions.size} are known`)
  }
}

/** The databases of the Session objects on disk. */
const sessionObjects = () =>
  readdirSync(stateDir, { recursive: true })
    .map(String)
    .filter((path) => /Session[^/]*\/[0-9a-f]{64}\.sqlite$/.test(path))

// ---------------------------------------------------------------- all of it

const startedMs = performance.now()
const seconds = () => `${Math.round((performance.now() - startedMs) / 1000)} s`
const start = () =>
  startServer({
    folder: join(temp, 'worker'),
    stateDir,
    vars: {
      ISOLA_MODEL: 'openai/fake-model',
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'sk',
    },
  })

async function main() {
  await buildWorker(join(temp, 'worker'))
  server = await start()
  await post('/api/operator/policy', policyFor(effects.url))
  const count = Math.ceil(options.requests / options.copies)
  for (let number = 0; number < count; number += 1) logicals.push(await defineRequest(number))
  const { early, late } = scheduleOf()
  await sendAll(early)
  console.log(`${early.length} copies of ${count} requests are answered, ${seconds()}`)
  await server.kill()
  server = await start()
  await sendAll(late)
  console.log(`${late.length} more after the server was killed and started again, ${seconds()}`)

  for (const logical of logicals) {
    compareReplies(logical)
    checkNamed(logical)
  }
  await checkEffects()
  await server.close()
  const byStatus = Map.groupBy(
    logicals.flatMap(({ replies, refusals }) => [...replies, ...refusals]),
    ({ status }) => status,
  )
  for (const [status, list] of [...byStatus].sort(([a], [b]) => a - b)) {
    console.log(`  ${list.length} × ${status}`)
  }
  console.log(
    `sent again without an answer or after 429 or 503: ${refused}; sessions made: ${sessions.size}; ${seconds()}`,
  )
  console.log(
    `not compared: request_id in a refusal's body; where a stream that was read while it came is ` +
      `cut into pieces (${cut.otherwise} of ${cut.streams} were cut otherwise than the first)`,
  )
}

let fault
try {
  await main()
} catch (error) {
  fault = error
} finally {
  await Promise.all([model.close(), effects.close()])
}
if (fault) console.error(fault)
for (const [name, { count, example }] of differing) {
  const [{ number }, a, b] = example
  const show = (value) => JSON.stringify(value).slice(0, 600)
  console.error(`${count} differ: ${name}\n    r${number}: ${show(a)}\n    ${show(b)}`)
}
for (const text of doubled.slice(0, 40)) console.error(`doubled: ${text}`)
let differences = 0
for (const { count } of differing.values()) differences += count
const isGood = !fault && doubled.length === 0 && differences === 0 && answered >= options.requests
if (isGood && !keepsData) rmSync(temp, { recursive: true, force: true })
else console.log(`data kept in ${temp}`)
console.log(
  `retries ${answered} effects-doubled ${doubled.length} replies-differing ${differences}`,
)
process.exit(isGood ? 0 : 1)
