// node test/faults/retention.mjs [--calls 1000 --clients 8 --keep]
//
// Calls without a session name (chat completions, and responses with `store: false`; some with tools that store something,
// some with a sub-agent) against a server that keeps such a session for two seconds instead of an hour. When retention
// ran, the databases on disk are opened: nothing of the calls may be left but the record. One named session stays, to show
// that the check sees rows that exist. Last line: `calls N left 0`.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { startModelServer } from '../fakes/model-server.mjs'
import { buildWorker, numberOption, operatorKey, sleep, startServer } from './local-server.mjs'

const options = { calls: numberOption('calls', 1_000), clients: numberOption('clients', 8) }
const keepsData = process.argv.includes('--keep')
/** SQLITE_BUSY */
const busy = 5
const patienceMs = 180_000
const temp = mkdtempSync(join(tmpdir(), 'isola-retention-'))
const stateDir = join(temp, 'state')

// ---------------------------------------------------------------- what is asked

/** Every fifth call stores something in its session, every tenth has a sub-agent, every seventh is a response. */
const planOf = (number) => (number % 10 === 0 ? 'agent' : number % 5 === 0 ? 'kv' : 'plain')
const tools = {
  kv: { name: 'kv__set', arguments: { key: 'a', value: 1 } },
  agent: { name: 'code-reviewer__run', arguments: { task: 'Review this.' } },
}
const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')

const model = await startModelServer({
  script({ body: { messages: said } }) {
    model.requests.length = 0 // the fake keeps every body
    const asked = said.findLastIndex(({ role }) => role === 'user')
    const [, plan] = /\[(\w+)\]/.exec(textOf(said[asked]?.content)) ?? []
    const isFirst = said.slice(asked).every(({ role }) => role !== 'assistant')
    if (isFirst && tools[plan]) return { toolCalls: [tools[plan]] }
    return { text: 'Done.' }
  },
})
const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }
let server

async function post(path, json, more = {}) {
  const body = JSON.stringify(json)
  const all = { ...headers, ...more }
  for (let tries = 1; ; tries += 1) {
    try {
      const response = await fetch(`${server.url}${path}`, { method: 'POST', headers: all, body })
      const text = await response.text()
      if (response.status === 200) return
      throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`)
    } catch (error) {
      // A kept connection may be closed just when the next request goes out on it: the key makes it one call.
      if (error.name !== 'TypeError' || tries === 3) throw error
    }
  }
}

function ask(number, more) {
  const text = `Call ${number}. [${planOf(number)}]`
  if (number % 7 === 0)
    return post('/v1/responses', { model: 'orchestrator', input: text, store: false }, more)
  const messages = [{ role: 'user', content: text }]
  const stream = number % 3 === 0
  return post('/v1/chat/completions', { model: 'orchestrator', messages, stream }, more)
}

async function askAll() {
  let next = 0
  const client = async () => {
    while (next < options.calls) {
      const number = (next += 1)
      await ask(number, { 'idempotency-key': `call-${number}` })
    }
  }
  await Promise.all(Array.from({ length: options.clients }, client))
}

async function isListed(query) {
  const response = await fetch(`${server.url}/api/sessions?${query}`, { headers })
  return (await response.json()).sessions.length > 0
}

// ---------------------------------------------------------------- what is on the disk

const filesOf = (pattern) =>
  readdirSync(stateDir, { recursive: true })
    .map(String)
    .filter((path) => pattern.test(path))
    .map((path) => join(stateDir, path))
const sessionFiles = () => filesOf(/Session[^/]*\/[0-9a-f]{64}\.sqlite$/)

/** Rows by table, those of the platform left out. */
function rowsIn(file) {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all()
    const own = tables.map(({ name }) => name).filter((name) => !/^(_|sqlite_)/.test(name))
    return own.map((name) => {
      const { rows } = database.prepare(`SELECT count(*) AS rows FROM "${name}"`).get()
      return [name, rows]
    })
  } finally {
    database.close()
  }
}

function sumOf(files) {
  const sums = new Map()
  for (const file of files)
    for (const [name, rows] of rowsIn(file)) sums.set(name, (sums.get(name) ?? 0) + rows)
  return sums
}
/** Not while one of them is being emptied. */
function isEmpty(files) {
  try {
    return sumOf(files).size === 0
  } catch (error) {
    if (error.errcode === busy) return false
    throw error
  }
}
const total = (sums) => [...sums.values()].reduce((sum, rows) => sum + rows, 0)
const shown = (sums) => [...sums].map(([name, rows]) => `${name} ${rows}`).join(', ')
const kibOf = (files) =>
  Math.round(
    files
      .flatMap((file) => [file, `${file}-wal`, `${file}-shm`])
      .reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0) /
      1024,
  )

/** The one database of D1: the file that has its migrations. */
const databaseFile = () =>
  filesOf(/\.sqlite$/).find(
    (file) => /d1/i.test(file) && rowsIn(file).some(([name]) => name === 'd1_migrations'),
  )

// ---------------------------------------------------------------- all of it

const startedMs = performance.now()
const seconds = () => `${Math.round((performance.now() - startedMs) / 1000)} s`

async function until(what, holds) {
  const deadline = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > deadline) return console.log(`not so after ${patienceMs} ms: ${what}`)
    await sleep(500)
  }
}

async function main() {
  const folder = join(temp, 'worker')
  await buildWorker(folder, join(import.meta.dirname, 'retention-worker.ts'))
  const vars = { ISOLA_MODEL: 'openai/fake', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk' }
  server = await startServer({ folder, stateDir, vars })
  await ask(10, { 'x-isola-session': 'the one that stays' })
  const ofNamed = new Set(sessionFiles())
  await until('the named session is listed', () => isListed('principal=*'))
  const before = total(sumOf(ofNamed))
  await askAll()
  const others = () => sessionFiles().filter((file) => !ofNamed.has(file))
  console.log(`${options.calls} calls are answered, ${others().length} objects made, ${seconds()}`)
  await until('no table is left in their objects', () => isEmpty(others()))
  await server.close()
  server = undefined
  console.log(`retention ran, ${seconds()}`)

  const left = sumOf(others())
  const database = new Map(rowsIn(databaseFile()))
  const d1 = new DatabaseSync(databaseFile(), { readOnly: true })
  const sessions = d1
    .prepare(
      `SELECT count(DISTINCT session) AS count FROM audit_events WHERE agent = 'orchestrator'`,
    )
    .get().count
  const unnamed = d1
    .prepare(`SELECT count(*) AS count FROM sessions WHERE kind = 'stateless'`)
    .get().count
  const children = d1
    .prepare(`SELECT count(*) AS count FROM sessions WHERE kind = 'child'`)
    .get().count
  d1.close()
  const named = sumOf(ofNamed)
  console.log(`objects of the calls: ${shown(left) || 'no table'}; ${kibOf(others())} KiB on disk`)
  console.log(`objects of the named session: ${shown(named)}`)
  console.log(`D1: ${shown(database)}; ${kibOf([databaseFile()])} KiB on disk`)
  console.log(`on record: ${sessions} sessions of the orchestrator`)
  const wrong = [
    ...(sessions === options.calls + 1 ? [] : [`${sessions} sessions are on record`]),
    ...(before > 0 && total(named) > 0 ? [] : ['what is there is not seen']),
    ...(children === ofNamed.size - 1 ? [] : [`${children} sub-agents are listed`]),
    ...(database.get('given_up_runs') === 0 ? [] : ['runs were given up']),
  ]
  for (const line of wrong) console.log(`WRONG: ${line}`)
  const count = left.size + total(left) + unnamed
  console.log(`calls ${options.calls} left ${count}`)
  return count === 0 && wrong.length === 0
}

let isFine = false
try {
  isFine = await main()
} finally {
  await server?.close()
  await model.close()
  if (keepsData) console.log(`the data is in ${temp}`)
  else rmSync(temp, { recursive: true, force: true })
}
process.exitCode = isFine ? 0 : 1
