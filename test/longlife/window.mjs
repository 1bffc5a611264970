// npm run window [-- --turns 1000 --kills 30 --seed 1 --keep --short]
//
// One session of `--turns` runs with a model whose window is 16,000 tokens, over the real HTTP API: no run fails, and
// no request is larger than the window. The server is SIGKILLed inside `--kills` compactions (while the summary is asked
// for, when it has come, when the next request is sent) and the transcript is to the word the same as without a kill. Facts
// of long ago are found again in a request or by one `isola__read_output`. Now and then the service refuses as too long a
// request that should fit. Last line: `window ok` or the fault.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { estimateTokenCount } from 'tokenx'
import { startModelServer } from '../fakes/model-server.mjs'
import {
  buildWorker,
  createRandom,
  numberOption,
  operatorKey,
  policyFor,
  sleep,
  startServer,
} from '../faults/local-server.mjs'
import { createTalk, taskOf, textOf } from './talk.mjs'

const isShort = process.argv.includes('--short')
const options = {
  turns: numberOption('turns', isShort ? 70 : 1_000),
  kills: numberOption('kills', isShort ? 3 : 30),
  seed: numberOption('seed', 1),
}
const windowTokens = 16_000
const temp = mkdtempSync(join(tmpdir(), 'isola-window-'))
const random = createRandom(options.seed)
const wrong = []
const check = (holds, what) => void (holds || wrong.push(what))
const beganMs = performance.now()
const say = (line) =>
  console.log(`${((performance.now() - beganMs) / 1_000).toFixed(0).padStart(4)} s  ${line}`)

// ---------------------------------------------------------------- what is outside: pages and a model

const pages = createServer((request, response) => {
  const { searchParams } = new URL(request.url, 'http://127.0.0.1')
  response.setHeader('content-type', 'text/plain')
  response.end(talk.page(Number(searchParams.get('of')), Number(searchParams.get('words'))))
})
await new Promise((resolve) => pages.listen(0, '127.0.0.1', resolve))
const pagesUrl = `http://127.0.0.1:${pages.address().port}`
const talk = createTalk({ seed: options.seed, pagesUrl })

const seen = { requests: 0, summaries: 0, largest: 0, refused: 0, reads: 0, inWindow: 0 }
const isSummary = ({ messages: [first] }) =>
  first.role === 'system' && textOf(first).startsWith('You write the notes')

/** By the estimate that Isola uses, of everything that is sent. */
function tokensOf({ messages, tools = [] }) {
  const texts = [
    ...messages.flatMap((one) => [textOf(one), ...(one.tool_calls ?? []).map(toolCallText)]),
    ...tools.map((tool) => JSON.stringify(tool.function)),
  ]
  return texts.reduce((sum, text) => sum + 4 + estimateTokenCount(text), 0)
}
const toolCallText = ({ function: { name, arguments: given } }) => name + given

const tooLong = (tokens) => ({
  status: 400,
  body: {
    error: {
      message: `This model's maximum context length is ${windowTokens} tokens; ${tokens} were asked for.`,
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    },
  },
})

const model = await startModelServer({
  async script({ body }) {
    model.requests.length = 0 // the fake keeps every body
    const tokens = tokensOf(body)
    const all = tokens + (body.max_completion_tokens ?? body.max_tokens ?? 0)
    seen.requests += 1
    seen.largest = Math.max(seen.largest, all)
    check(all <= windowTokens, `a request of ${tokens} tokens, ${all} with its answer`)
    if (all > windowTokens) return tooLong(all)
    if (isSummary(body)) {
      seen.summaries += 1
      struck.onSummary()
      await struck.reached('asked')
      struck.soon('answered')
      return { text: talk.notes(body) }
    }
    await struck.reached('sent')
    const about = taskOf(body)
    if (talk.isRefused(about)) {
      seen.refused += 1
      return tooLong(windowTokens + 1)
    }
    const reply = talk.reply(body, about)
    if (reply.how) seen[reply.how] += 1
    return reply
  },
})

/** When the server dies: while a summary is asked for, when it has come, when what came of it is sent. */
const struck = createStrikes()
function createStrikes() {
  const moments = ['asked', 'answered', 'sent']
  const counts = { asked: 0, answered: 0, sent: 0 }
  const count = () => counts.asked + counts.answered + counts.sent
  let plan
  let inThisRun = 0
  let dying = Promise.withResolvers()
  function strike(moment) {
    if (plan !== moment) return false
    plan = undefined
    counts[moment] += 1
    inThisRun += 1
    dying.resolve('dies')
    return true
  }
  return {
    counts,
    count,
    dying: () => dying.promise,
    onRun: () => void (inThisRun = 0),
    /** A run that is cut again and again is given up: that is not what is looked for. */
    onSummary() {
      if (count() < options.kills && inThisRun < 2 && random.chance(0.7))
        plan ??= moments[count() % moments.length]
    },
    /** A request that is here when the server dies is never answered. */
    reached: (moment) => (strike(moment) ? new Promise(() => {}) : undefined),
    soon: (moment) => void setTimeout(() => strike(moment), random.int(0, 25)),
    onRevived() {
      plan = undefined
      dying = Promise.withResolvers()
    },
  }
}

// ---------------------------------------------------------------- the session

let server
const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }
async function request(path, { json, key } = {}) {
  const send = () =>
    fetch(`${server.url}${path}`, {
      headers: { ...headers, ...(key !== undefined && { 'idempotency-key': key }) },
      ...(json !== undefined && { method: 'POST', body: JSON.stringify(json) }),
    })
  const again = (error) => (json === undefined ? sleep(200).then(send) : Promise.reject(error))
  const response = await send().catch(again)
  const text = await response.text()
  return { status: response.status, body: () => JSON.parse(text), text }
}

async function start() {
  const vars = {
    ISOLA_MODEL: 'small/fake-model',
    ISOLA_PROVIDERS: JSON.stringify([
      {
        id: 'small',
        base_url: model.url,
        api_key_secret_name: 'SMALL_KEY',
        models: [{ name: 'fake-model', context_tokens: windowTokens }],
      },
    ]),
    SMALL_KEY: 'sk',
  }
  server = await startServer({
    folder: join(temp, 'worker'),
    stateDir: join(temp, 'state'),
    vars,
  })
}

/** Says something and waits for the end of the run, however often the server dies over it. */
async function run(session, name, task) {
  struck.onRun()
  for (;;) {
    const said = request(`/api/sessions/${session}/runs`, { json: { task, wait: true }, key: name })
    const dies = struck.dying()
    // A kept connection may be closed just when a request goes out on it: with its key it is asked again.
    const failed = () => Promise.race([dies, sleep(500).then(() => 'again')])
    const answer = await Promise.race([said.catch(failed), dies])
    if (answer === 'again') continue
    if (answer !== 'dies') {
      if (answer.status === 200) return answer.body().result
      throw new Error(`${name}: ${answer.status} ${answer.text.slice(0, 300)}`)
    }
    await server.kill()
    await said.catch(() => {})
    struck.onRevived()
    await start()
  }
}

async function readAll(session) {
  const messages = []
  for (let query = ''; query !== undefined;) {
    const page = (await request(`/api/sessions/${session}/transcript${query}`)).body()
    messages.push(...page.messages)
    query = page.next === undefined ? undefined : `?after=${page.next}`
  }
  const log = await request(`/api/sessions/${session}/events?follow=false`)
  const events = log.text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)))
  return { messages, events }
}

/** At least ten turns lie between two compactions, unless what came in would not fit any more. */
function checkCompactions(events) {
  const made = { start: 0, budget: 0, context_error: 0, model: 0, rule: 0, results: 0, lost: 0 }
  let turns = Infinity
  let filled = 0
  for (const { type, data } of events) {
    if (type === 'model_called') turns += 1
    if (type !== 'context_compacted') continue
    const { reason, stage, by, tokensBefore, tokensAfter, targetTokens, roomTokens, left } = data
    const how = [by ?? stage, ...data.unpinned].join(', ')
    made[reason] += 1
    made[by ?? stage] += 1
    made.lost += left.notKept
    filled = Math.max(filled, tokensAfter / roomTokens)
    const what = `${tokensBefore} → ${tokensAfter} of ${roomTokens} tokens after ${turns} turns (${reason}: ${how})`
    check(tokensAfter < tokensBefore, `larger than before: ${what}`)
    // Of a request that was refused although it is small, its fixed part may be more than half.
    const most = reason === 'context_error' ? roomTokens / 2 : targetTokens
    check(tokensAfter <= most, `above the target: ${what}`)
    // The request of the summary is none of the agent's turns.
    const isForced = reason !== 'start' || tokensBefore > roomTokens * 0.95
    check(turns - (by === 'model' ? 1 : 0) >= 10 || isForced, `too soon: ${what}`)
    turns = 0
  }
  return { made, filled }
}

// ---------------------------------------------------------------- all of it

try {
  await buildWorker(join(temp, 'worker'))
  await start()
  await request('/api/operator/policy', { json: policyFor(pagesUrl) })
  const session = (await request('/api/sessions', { json: {} })).body().id
  say('built and started')
  for (let index = 0; index < options.turns; index += 1) {
    const result = await run(session, `turn ${index}`, talk.task(index))
    const { state, error } = result
    check(state === 'completed', `turn ${index}: ${state} ${error?.code} ${error?.message}`)
    check(result.result === talk.answer(index), `turn ${index} was answered: ${result.result}`)
    if ((index + 1) % 100 === 0) say(`${index + 1} turns, ${struck.count()} kills`)
  }
  const { messages, events } = await readAll(session)
  const { made, filled } = checkCompactions(events)
  check(made.lost === 0, `${made.lost} messages were not kept`)
  for (const what of talk.differences(messages, options.turns)) check(false, what)

  const huge = await run(session, 'huge', talk.words(0, 16_000))
  check(huge.error?.code === 'request_too_large', `a message alone too large: ${huge.error?.code}`)
  check(/takes at most \d+ /.test(huge.error?.message), `no limit is named: ${huge.error?.message}`)
  const before = seen.refused
  const refused = await run(session, 'refused', talk.refusedTask)
  check(refused.error?.code === 'model_context_exceeded', `refused twice: ${refused.error?.code}`)
  check(seen.refused - before === 2, `asked ${seen.refused - before} times what is refused`)
  const after = await run(session, 'after', talk.task(options.turns))
  check(after.state === 'completed', `after them: ${after.state} ${after.error?.message}`)

  check(struck.count() === options.kills, `only ${struck.count()} kills in compactions`)
  check(model.scriptErrors.length === 0, model.scriptErrors[0])
  say(
    `${options.turns} turns, ${messages.length} messages; ${seen.requests} requests, ${seen.summaries} of them for summaries, the largest of ${seen.largest} tokens with its answer`,
  )
  say(`compactions: ${JSON.stringify(made)}; at most ${(filled * 100).toFixed(1)} % full after one`)
  say(
    `killed inside of compactions: ${JSON.stringify(struck.counts)}; refused by the service: ${seen.refused}; recalled in what was sent: ${seen.inWindow}, by reading: ${seen.reads}`,
  )
} catch (error) {
  wrong.push(`${error.stack}`)
} finally {
  await server?.close().catch(() => {})
  await model.close()
  pages.close()
  pages.closeAllConnections()
  if (process.argv.includes('--keep')) console.log(`the data is in ${temp}`)
  else rmSync(temp, { recursive: true, force: true })
}
for (const what of wrong.slice(0, 30)) console.log(`WRONG: ${what}`)
console.log(wrong.length === 0 ? 'window ok' : `window: ${wrong.length} wrong`)
process.exitCode = wrong.length === 0 ? 0 : 1
