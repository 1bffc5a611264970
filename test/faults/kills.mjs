// npm run kills [-- --kills 100 --acknowledged 5000 --seed 1 --clients 12 --keep]
//
// SIGKILLs the local server again and again while clients talk to it, always over the same folder of data. Then
// everything that was acknowledged must be there exactly once and must have ended, and what a kill had interrupted
// must have gone on before a client asked for it. Last line: `kills N acknowledged M lost 0`.
import { mkdtempSync, rmSync } from 'node:fs'
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
  kills: numberOption('kills', 100),
  acknowledged: numberOption('acknowledged', 5_000),
  seed: numberOption('seed', 1),
  clients: numberOption('clients', 12),
}
const keepsData = process.argv.includes('--keep')
/** How long after a restart every run must have ended. */
const terminalWithinMs = 240_000
const maxMessagesPerSession = 12
const terminal = new Set(['completed', 'stopped', 'failed', 'cancelled'])
const random = createRandom(options.seed)
const temp = mkdtempSync(join(tmpdir(), 'isola-kills-'))
const stateDir = join(temp, 'state')

// ---------------------------------------------------------------- what is outside: model and effects

/** By token: `[m<life>.<number> <plan> <pace>]` in a task says what the model does about it. */
const messages = new Map()
const marker = /\[(m\d+\.\d+)(c?) (\w+) (\d+)\]/
const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')
/** Counts the servers started; a request that arrives belongs to the one that runs. */
let life = 0

const model = await startModelServer({
  async script({ body: { messages: said } }) {
    model.requests.length = 0 // the fake keeps every body
    const asked = said.findLastIndex(({ role }) => role === 'user')
    const [, token, child, plan, pace] = marker.exec(textOf(said[asked]?.content)) ?? []
    const message = messages.get(token)
    if (!message) return { text: 'Which message is this?' }
    noteSeen(message)
    const step = said.slice(asked).filter(({ role }) => role === 'assistant').length
    if (plan === 'read' && step > 0) return { text: textOf(said.at(-1).content) }
    const calls = step === 0 && child === '' ? callsOf(plan, token, pace) : []
    if (calls.length > 0) return { toolCalls: calls, delayMs: random.int(2, 25) }
    await sleep(random.int(2, 25) + Number(pace))
    if (child === '') message.answeredIn = life
    return { text: `Answer to ${token}${child}, step ${step}.`, chunkSize: 12 }
  },
})

const effects = await startEffectServer()
/** By logical call: every delivery's key. */
function deliveries() {
  const byCall = new Map()
  for (const { method, query, idempotencyKey } of effects.requests) {
    if (method !== 'POST') continue
    byCall.set(query.call, [...(byCall.get(query.call) ?? []), idempotencyKey ?? 'no key'])
  }
  return byCall
}

function callsOf(plan, token, pace) {
  const kv = { name: 'kv__set', arguments: { key: token, value: token } }
  const post = (number) => ({
    name: 'http__request',
    arguments: {
      method: 'POST',
      url: `${effects.url}/slow?ms=${random.int(1, 60)}&call=${token}-${number}`,
      body: token,
    },
  })
  const get = { name: 'http__get', arguments: { url: `${effects.url}/page?of=${token}` } }
  const agent = {
    name: 'code-reviewer__run',
    arguments: { task: `Review this. [${token}c plain ${pace}]` },
  }
  const read = { name: 'kv__get', arguments: { key: messages.get(token).reads } }
  const many = [post(1), kv, post(2), agent]
  return { kv: [kv], post: [post(1)], get: [get], agent: [agent], many, read: [read] }[plan] ?? []
}

/** A request about a message that was acknowledged in an earlier life, in a session without a message since. */
function noteSeen(message) {
  const { ackedIn, session } = message
  if (ackedIn === undefined || ackedIn >= life || (session.touchedIn ?? 0) >= life) return
  message.resumedIn ??= life
}

// ---------------------------------------------------------------- the load

const sessions = []
let server
let acknowledged = 0
let count = 0
const retries = []
const answers = new Map()
const note = (what) => answers.set(what, (answers.get(what) ?? 0) + 1)
const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }

async function request(path, { json, more, signal } = {}) {
  return fetch(`${server.url}${path}`, {
    headers: { ...headers, ...more },
    signal,
    ...(json !== undefined && { method: 'POST', body: JSON.stringify(json) }),
  })
}

async function newSession(kind) {
  const session = {
    kind,
    bornIn: life,
    isLong: random.chance(0.15),
    touchedIn: life,
    said: 0,
    name: undefined,
    id: undefined,
  }
  if (kind === 'named') session.name = `kills-${options.seed}-${sessions.length}-${life}`
  if (kind === 'api') {
    const response = await request('/api/sessions', { json: {} })
    if (response.status !== 201) return void note(`POST /api/sessions ${response.status}`)
    session.id = (await response.json()).id
  }
  sessions.push(session)
  return session
}

/** Most sessions are left alone once the life they began in is over: what they still do, they do by themselves. */
async function pickSession(kind) {
  const open = sessions.filter(
    (session) =>
      session.kind === kind &&
      session.said < maxMessagesPerSession &&
      (session.bornIn === life || session.isLong),
  )
  if (kind === 'stateless' || open.length < 6 || random.chance(0.1)) return newSession(kind)
  return random.pick(open)
}

async function newMessage() {
  const route = random.weighted([
    [50, 'runs'],
    [15, 'chat'],
    [10, 'chat stateless'],
    [15, 'stream'],
    [10, 'stream stateless'],
  ])
  const kind = route === 'runs' ? 'api' : route.endsWith('stateless') ? 'stateless' : 'named'
  const session = await pickSession(kind)
  if (!session) return undefined
  count += 1
  const token = `m${life}.${count}`
  const plan = random.weighted([
    [50, 'plain'],
    [15, 'kv'],
    [13, 'post'],
    [5, 'get'],
    [12, 'agent'],
    [5, 'many'],
  ])
  const pace = random.chance(0.2) ? random.int(150, 900) : random.int(0, 20)
  const message = {
    token,
    plan,
    route,
    session,
    task: `Do it. [${token} ${plan} ${pace}]`,
    key: random.chance(0.5) ? `key-${options.seed}-${token}` : undefined,
    sentAtMs: performance.now(),
  }
  session.said += 1
  messages.set(token, message)
  return message
}

/** Sends a message; with a key it is sent again in the next life if no acknowledgement came. */
async function send(message) {
  const { session, route, key, task } = message
  session.touchedIn = life
  const more = {
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(session.name !== undefined && { 'x-isola-session': session.name }),
  }
  try {
    if (route === 'runs') {
      const response = await request(`/api/sessions/${session.id}/runs`, { json: { task }, more })
      const body = await response.json()
      if (response.status === 202) acknowledge(message, body.run)
      else refuse(message, response.status, body)
      return
    }
    const stream = route.startsWith('stream')
    const json = {
      model: 'orchestrator',
      messages: [{ role: 'user', content: task }],
      ...(stream && { stream }),
    }
    const response = await request('/v1/chat/completions', { json, more })
    if (response.status !== 200) {
      return refuse(message, response.status, await response.json().catch(() => undefined))
    }
    session.id ??= response.headers.get('x-isola-session')
    const run = response.headers.get('x-isola-run')
    if (stream) await readStream(response, () => acknowledge(message, run))
    else if ((await response.json()).id) acknowledge(message, run)
  } catch (error) {
    if (!isDown) note(`no answer while up: ${error.cause?.code ?? error.message}`)
    if (message.ackedIn === undefined && key !== undefined) retries.push(message)
  }
}

/** The first event with an id acknowledges; what comes after it may be cut. */
async function readStream(response, onFirst) {
  const decoder = new TextDecoder()
  let text = ''
  let isFirst = true
  for await (const chunk of response.body) {
    if (!isFirst) continue
    text += decoder.decode(chunk, { stream: true })
    if (!/^data: \{"id":"[^"]+".*\n\n/m.test(text)) continue
    isFirst = false
    onFirst()
  }
}

function acknowledge(message, run) {
  if (message.ackedIn !== undefined) return
  message.ackedIn = life
  message.ackedAtMs = performance.now()
  message.run = run
  acknowledged += 1
  onAcknowledged()
}

function refuse(message, status, body) {
  const code = body?.error?.code ?? body?.code
  note(`${message.route} ${status}${code === undefined ? '' : ` ${code}`}`)
  message.wasRefused = true
  if (status >= 500 && message.key !== undefined) retries.push(message)
}

let onAcknowledged = () => {}
let isDown = false

/** One life of the server: load until so many more are acknowledged, then SIGKILL in the middle of it. */
async function live(goal, maxMs) {
  let inFlight = 0
  isDown = false
  const { promise: reached, resolve } = Promise.withResolvers()
  const target = acknowledged + goal
  onAcknowledged = () => acknowledged >= target && resolve()
  const retried = retries.splice(0)
  const client = async () => {
    while (!isDown) {
      inFlight += 1
      try {
        const message = retried.pop() ?? (await newMessage())
        if (message && !isDown) await send(message)
      } catch (error) {
        if (!isDown) note(`no answer while up: ${error.cause?.code ?? error.message}`)
      } finally {
        inFlight -= 1
      }
      if (random.chance(0.3)) await sleep(random.int(0, 15))
    }
  }
  const clients = Array.from({ length: options.clients }, client)
  await Promise.race([reached, sleep(maxMs)])
  await sleep(random.int(0, 120)) // wherever it then is
  isDown = true
  const interrupted = inFlight
  retries.push(...retried)
  await server.kill()
  await Promise.all(clients)
  return interrupted
}

function startOver(dir) {
  const vars = {
    ISOLA_MODEL: 'openai/fake-model',
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'sk',
  }
  return startServer({ folder: join(temp, 'worker'), stateDir: dir, vars })
}

async function startNextLife() {
  life += 1
  server = await startOver(stateDir)
  if (life === 1) await request('/api/operator/policy', { json: policyFor(effects.url) })
}

// ---------------------------------------------------------------- what must be there

/** A kept connection may be closed just when the next request goes out on it; a GET is then sent again. */
async function getJson(path, triesLeft = 3) {
  try {
    const response = await request(path)
    if (response.status === 200) return await response.json()
    if (response.status !== 503 || triesLeft === 0) {
      throw new Error(`GET ${path}: ${response.status} ${await response.text()}`)
    }
  } catch (error) {
    const isCut = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(error.cause?.code)
    if (!isCut || triesLeft === 0 || !server.isAlive()) throw error
  }
  note('GET sent again')
  await sleep(200)
  return getJson(path, triesLeft - 1)
}

/** The runs that have ended, as the record in D1 has it: asking it wakes no session. */
async function endedRuns(expected, withinMs) {
  const ended = new Set()
  const until = performance.now() + withinMs
  let after = 0
  for (;;) {
    const { records, next } = await getJson(`/api/operator/audit?limit=500&after=${after}`)
    for (const record of records) if (record.type === 'run_finished') ended.add(record.run)
    after = next ?? after
    if (next !== undefined && records.length === 500) continue
    if (performance.now() > until || expected.every((run) => ended.has(run))) return ended
    await sleep(250)
  }
}

const problems = []
const problem = (kind, text) => problems.push({ kind, text })

/** Every message of a session against its transcript and its runs. */
async function checkSession(session, own) {
  const path = `/api/sessions/${session.id}`
  const [{ messages: said }, tree] = [await getJson(`${path}/transcript`), await getJson(path)]
  const found = said.flatMap((message) => {
    const token = message.role === 'user' && marker.exec(message.text ?? '')?.[1]
    return token ? [token] : []
  })
  for (const message of own) {
    const times = found.filter((token) => token === message.token).length
    if (times > 1) problem('doubled', `${message.token} is ${times} times in ${session.id}`)
    if (message.ackedIn === undefined) continue
    if (times === 0) problem('lost', `${message.token} (${message.route}) is not in ${session.id}`)
    const runs = tree.runs.filter(({ id }) => id === message.run)
    if (runs.length !== 1) problem('lost', `${message.token}: run ${message.run} not there once`)
    else if (!terminal.has(runs[0].state)) problem('open', `${message.token}: ${runs[0].state}`)
    else states.set(runs[0].state, (states.get(runs[0].state) ?? 0) + 1)
    message.state = runs[0]?.state
    message.error = runs[0]?.result?.error?.code
  }
  for (const [before, after] of inversions(found)) {
    problem('order', `${session.id}: ${after} was acknowledged before ${before} was sent`)
  }
  for (const child of tree.children) {
    const ends = child.runs.map(({ state }) => state)
    if (ends.length !== 1) problem('doubled', `${child.id}: a sub-agent with ${ends.length} runs`)
    for (const state of ends) if (!terminal.has(state)) problem('open', `${child.id}: ${state}`)
    children += 1
  }
  checkCalls(said)
}
const states = new Map()
let children = 0

function* inversions(found) {
  const known = found.map((token) => messages.get(token)).filter(Boolean)
  for (const [at, before] of known.entries())
    for (const after of known.slice(at + 1))
      if (after.ackedAtMs < before.sentAtMs) yield [before.token, after.token]
}

/** Checks the transcript's outcomes of the calls whose effect is counted. */
function checkCalls(said) {
  const urls = new Map(
    said.flatMap(({ toolCalls = [] }) =>
      toolCalls.flatMap(({ id, name, input }) =>
        name === 'http__request' ? [[id, new URL(input.url).searchParams.get('call')]] : [],
      ),
    ),
  )
  for (const { role, callId, isError } of said) {
    const call = role === 'tool' && urls.get(callId)
    if (!call) continue
    outcomes[isError ? 'unknown' : 'done'] += 1
    if (!isError) callsDone.push(call)
  }
}
const outcomes = { done: 0, unknown: 0 }
const callsDone = []

/** The tools' own store, read back by a run of its own. */
async function checkStored(session, { token }) {
  count += 1
  const reading = { token: `m${life}.${count}`, reads: token, session }
  messages.set(reading.token, reading)
  const json = { task: `Read it back. [${reading.token} read 0]`, wait: true }
  const more = { 'idempotency-key': `read-${reading.token}` }
  const ask = () => request(`/api/sessions/${session.id}/runs`, { json, more })
  const response = await ask().catch(ask)
  const text = await response.text()
  if (response.status === 200 && JSON.parse(text).result?.result.includes(token)) return
  problem('lost', `${token} is not in the store of ${session.id}: ${text.slice(0, 300)}`)
}

/** Each delivery of a POST, which is declared neither read-only nor idempotent, is the only one of its call. */
function checkEffects() {
  const delivered = deliveries()
  for (const call of callsDone)
    if (!delivered.has(call)) problem('lost', `the effect of ${call} was not delivered`)
  for (const [call, keys] of delivered) {
    if (new Set(keys).size > 1) problem('effect', `${call} was executed under two keys: ${keys}`)
    if (keys.length > 1) problem('effect', `${call} was delivered ${keys.length} times`)
    if (keys.includes('no key')) problem('effect', `${call} came without a key`)
  }
}

/**
 * Shows that a message survives a SIGKILL with its folder, and that a server over another folder does not have it:
 * so the folder is what keeps it, and a loss would be seen.
 */
async function proveThatLossIsSeen() {
  const dir = join(temp, 'self-test')
  server = await startOver(dir)
  const { id } = await (await request('/api/sessions', { json: {} })).json()
  const sent = await request(`/api/sessions/${id}/runs`, { json: { task: 'Remember me.' } })
  if (sent.status !== 202) throw new Error(`self-test: ${sent.status} ${await sent.text()}`)
  await server.kill()
  const isThere = async (at) => {
    server = await startOver(at)
    const response = await request(`/api/sessions/${id}/transcript`)
    const text = await response.text()
    await server.kill()
    return response.status === 200 && text.split('Remember me.').length === 2
  }
  if (!(await isThere(dir))) {
    throw new Error('self-test: an acknowledged message did not survive: persistence is off')
  }
  if (await isThere(join(temp, 'empty'))) {
    throw new Error('self-test: another folder has the message too, so a loss would not be seen')
  }
}

// ---------------------------------------------------------------- all of it

async function main() {
  const { kills, acknowledged: wanted, seed } = options
  const startedMs = performance.now()
  const seconds = () => `${Math.round((performance.now() - startedMs) / 1000)} s`
  await buildWorker(join(temp, 'worker'))
  await proveThatLossIsSeen()
  console.log(`self-test passed: persistence is on, a loss is seen (seed ${seed}, ${seconds()})`)

  let interrupted = 0
  for (let done = 0; done < kills; done += 1) {
    await startNextLife()
    const left = Math.max(1, wanted - acknowledged)
    const share = left / (kills - done)
    const isLast = done === kills - 1
    const goal = isLast ? left : random.int(Math.ceil(share * 0.4), Math.ceil(share * 1.9))
    interrupted += await live(goal, isLast ? 240_000 : 20_000)
    if ((done + 1) % 10 === 0 || isLast) {
      console.log(`${done + 1} kills, ${acknowledged} acknowledged, ${seconds()}`)
    }
  }

  await startNextLife()
  const acked = [...messages.values()].filter(({ ackedIn }) => ackedIn !== undefined)
  const open = acked.filter(({ answeredIn }) => answeredIn === undefined)
  console.log(`${open.length} acknowledged runs are without an answer; nobody asks for them now`)
  const expected = acked.map(({ run }) => run)
  const ended = await endedRuns(expected, terminalWithinMs)
  for (const { token, run, session } of acked) {
    if (!ended.has(run)) problem('open', `${token}: run ${run} of ${session.id} has not ended`)
  }
  console.log(
    `${acked.length - problems.length} of ${acked.length} runs have ended, the last ones without ` +
      `being asked for, ${seconds()}`,
  )

  const bySession = [...Map.groupBy(messages.values(), ({ session }) => session)]
  const checkAll = async () => {
    for (let next = bySession.pop(); next; next = bySession.pop()) {
      const [session, own] = next
      // Named by a header alone, or not at all: only an answer tells its id.
      if (session.id) await checkSession(session, own)
      else if (own.some(({ ackedIn }) => ackedIn)) problem('lost', `no id of ${session.name}`)
    }
  }
  await Promise.all(Array.from({ length: 6 }, checkAll))
  const stored = acked.filter(
    ({ plan, state }) => (plan === 'kv' || plan === 'many') && state === 'completed',
  )
  const sample = random.shuffled(stored).slice(0, 40)
  for (const message of sample) await checkStored(message.session, message)
  checkEffects()
  await server.close()

  const resumed = acked.filter(({ resumedIn }) => resumedIn !== undefined).length
  const counts = (map) => [...map].map(([name, value]) => `${value} ${name}`).join(', ') || 'none'
  console.log(`requests cut by a kill: ${interrupted}; other answers: ${counts(answers)}`)
  console.log(`runs seen to go on without traffic to their session: ${resumed}`)
  console.log(`runs by state: ${counts(states)}; sub-agents: ${children}`)
  const codes = Map.groupBy(acked, ({ error }) => error ?? '')
  for (const [code, list] of codes) if (code !== '') console.log(`  ${list.length} with ${code}`)
  console.log(
    `POSTs: ${deliveries().size} delivered, ${outcomes.done} reported done, ${outcomes.unknown} ` +
      `unknown; values read back from the store: ${sample.length}; ${seconds()}`,
  )
  if (resumed === 0) problem('open', 'no run was seen to go on without traffic')
  return acked.length
}

let total = 0
try {
  total = await main()
} catch (error) {
  problem('failed', `${error.stack} ${error.cause ?? ''}`)
  total = acknowledged
} finally {
  await Promise.all([model.close(), effects.close()])
}
for (const { kind, text } of problems.slice(0, 40)) console.error(`${kind}: ${text}`)
const isShort = life - 1 < options.kills || total < options.acknowledged
if (problems.length === 0 && !keepsData) rmSync(temp, { recursive: true, force: true })
else console.log(`data kept in ${temp}`)
const lost = problems.length
console.log(`kills ${Math.max(0, life - 1)} acknowledged ${total} lost ${lost}`)
process.exit(lost > 0 || isShort ? 1 : 0)
