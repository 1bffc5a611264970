// node test/faults/cancel-storm.mjs [--rounds 10 --streams 51 --seed 1 --start]
//
// Many clients read the stream of an answer and go in the same moment, as those of a page that is closed. What has to
// hold: the server's process lives and answers, and no run is left working without a client. Each round has a process of its
// own; with --start they are asked of one `npm start` (docs/reliability.md). Last line: `rounds N died 0 unanswered 0 left-working 0`.
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startModelServer } from '../fakes/model-server.mjs'
import {
  buildWorker,
  createRandom,
  numberOption,
  operatorKey,
  sleep,
  startServer,
} from './local-server.mjs'

const rounds = numberOption('rounds', 10)
const streams = numberOption('streams', 51)
const seed = numberOption('seed', 1)
let random = createRandom(seed)
const temp = mkdtempSync(join(tmpdir(), 'isola-cancel-storm-'))
const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }
const vars = { ISOLA_OPERATOR_KEY: operatorKey, ISOLA_MODEL: 'openai/fake', OPENAI_API_KEY: 'none' }
const model = await startModelServer({
  script: () => {
    model.requests.length = 0
    return { text: 'A long answer, told in pieces. '.repeat(200), chunkSize: 8, chunkDelayMs: 5 }
  },
})
let dev
const counts = { died: 0, unanswered: 0, left: 0 }

/** Opens a stream and reads it; resolves with what ends its socket, once it was sent or its first piece is there. */
const open = (url, body, isEarly) =>
  new Promise((resolve, reject) => {
    const method = body ? 'POST' : 'GET'
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      answer.on('error', () => {})
      answer.once('data', () => resolve(() => sent.destroy()))
      if (answer.statusCode !== 200) reject(new Error(`answered ${answer.statusCode}`))
    })
    sent.on('error', reject)
    sent.end(body && JSON.stringify(body))
    if (isEarly) setTimeout(() => resolve(() => sent.destroy()), random.int(0, 100))
  })

const postJson = async (url, json) =>
  (await fetch(url, { method: 'POST', headers, body: JSON.stringify(json) })).json()
const said = [{ role: 'user', content: 'Go on.' }]
const kinds = {
  chat: (url) => [`${url}/v1/chat/completions`, { model: 'isola', stream: true, messages: said }],
  responses: (url) => [`${url}/v1/responses`, { model: 'isola', stream: true, input: 'Go on.' }],
  events: async (url) => {
    const { id } = await postJson(`${url}/api/sessions`, {})
    await postJson(`${url}/api/sessions/${id}/runs`, { task: 'Go on.' })
    return [`${url}/api/sessions/${id}/events`]
  },
}

const isWorking = ({ state }) => state === 'running'

/** `npm start`, which keeps the key of `.dev.vars`. */
async function startDev() {
  const { freePort, startServer: start } = await import('../e2e/server.ts')
  const env = { ...vars, OPENAI_BASE_URL: model.url }
  const { url, key, stop } = await start({
    state: join(temp, 'state'),
    port: await freePort(),
    env,
  })
  headers.authorization = `Bearer ${key}`
  return { url, isAlive: () => true, close: async () => {}, stop }
}

async function round(start, number) {
  random = createRandom(seed * 1_000 + number)
  const server = await start(number)
  try {
    const isEarly = random.chance(0.3)
    const isMixed = random.chance(0.3)
    const all = Object.keys(kinds)
    const kindOf = (at) => all[(isMixed ? at : number) % all.length]
    const asked = await Promise.all(
      Array.from({ length: streams }, (_, at) => kinds[kindOf(at)](server.url)),
    )
    const leave = await Promise.all(asked.map(([url, body]) => open(url, body, isEarly)))
    await sleep(random.int(0, 300))
    for (const go of leave) go()
    await sleep(random.int(500, 2_000))
    const answer = await fetch(`${server.url}/api/sessions`, { headers }).catch((error) => {
      console.log(`  ${error.cause ?? error}`)
    })
    if (!answer) await sleep(1_000)
    const died = !server.isAlive()
    const { sessions = [] } = answer?.ok ? await answer.json() : {}
    // A client of the events does not own the run: the run goes on when the client leaves.
    const left = kindOf(0) === 'events' || isMixed ? 0 : sessions.filter(isWorking).length
    counts.died += died ? 1 : 0
    counts.unanswered += answer?.ok ? 0 : 1
    counts.left += left
    const what = `${isMixed ? 'mixed' : kindOf(0)}${isEarly ? ', early' : ''}`
    const became = died ? 'died' : 'lives'
    console.log(`round ${number} (${what}): ${became}, ${answer?.status ?? 'no answer'}`)
  } finally {
    await server.close().catch(() => {})
  }
}

try {
  dev = process.argv.includes('--start') ? await startDev() : undefined
  const { folder } = dev ? {} : await buildWorker(join(temp, 'out'))
  const own = { ...vars, OPENAI_BASE_URL: model.url }
  const start = (number) =>
    dev ?? startServer({ folder, stateDir: join(temp, `state-${number}`), vars: own })
  for (let number = 0; number < rounds; number += 1) {
    await round(start, number).catch((error) => {
      // A stream that could not be opened: the server may still be starting.
      counts.unanswered += 1
      console.log(`round ${number}: ${error.message}`)
    })
  }
} finally {
  await dev?.stop()
  await model.close()
  rmSync(temp, { recursive: true, force: true })
}
const { died, unanswered, left } = counts
console.log(`rounds ${rounds} died ${died} unanswered ${unanswered} left-working ${left}`)
process.exitCode = died + unanswered + left > 0 ? 1 : 0
