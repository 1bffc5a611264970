// npm run bench [-- --quick] [-- --seed=7]: what a run costs, against the model alone (a) and a bare Worker (b).
import { cpus, totalmem } from 'node:os'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, toolFile } from '../scripts/toolchain.mjs'
import { createClient, createRandom, replay, shuffled, startModel } from './load.mjs'
import { benchPluginCalls } from './plugin-call.mjs'
import { printConcurrency, printCosts, printTimes } from './report.mjs'
import { build, makeTempDir, objectFiles, removeTempDir, serve, wranglerConfig } from './serve.mjs'

const isQuick = process.argv.includes('--quick')
const seed = Number(process.argv.find((text) => text.startsWith('--seed='))?.slice(7) ?? 1)
const counts = isQuick
  ? { warmups: 3, rounds: 15, slowRounds: 5, passes: 1, sessions: 16, runs: 5 }
  : { warmups: 10, rounds: 100, slowRounds: 30, passes: 3, sessions: 64, runs: 10 }

const plain = { scenario: 'plain', task: 'bench plain 0' }
const stream = { scenario: 'stream', task: 'bench plain 0', stream: true }
/** One session from its first message on: the same steps for all, so that they meet the same history. */
const steps = [
  { scenario: 'first', task: 'bench plain 0' },
  plain,
  plain,
  stream,
  stream,
  { scenario: 'tool', task: 'bench kv 1' },
  { scenario: 'agent', task: 'bench agent 1' },
  { scenario: 'tools10', task: 'bench kv 10' },
]
const slowSteps = [{ ...plain, scenario: 'first' }, plain, plain, stream, stream]
const key = 'isk_bench'
const random = createRandom(seed)
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Ends in the reverse order of their beginning, whatever happened. */
const cleanups = []
const onEnd = (work) => void cleanups.push(work)
async function cleanUp() {
  for (let work = cleanups.pop(); work; work = cleanups.pop()) {
    await Promise.resolve(work()).catch((error) => console.error(error.message))
  }
}

async function startAll() {
  const temp = makeTempDir('run')
  onEnd(() => removeTempDir(temp))
  const model = await startModel()
  onEnd(() => model.close())
  const vars = {
    ISOLA_OPERATOR_KEY: key,
    ISOLA_ENV: 'development',
    ISOLA_MODEL: 'openai/bench',
    OPENAI_BASE_URL: model.url,
  }
  const start = async (name, entry, config) => {
    const folder = await build({ entry: join(root, entry), config, outDir: join(temp, name) })
    const stateDir = join(temp, `${name}-state`)
    const server = await serve({ folder, config, vars, stateDir })
    onEnd(() => server.close())
    return {
      url: server.url,
      stateDir,
      client: createClient(server.url, { authorization: `Bearer ${key}` }),
    }
  }
  return {
    model,
    isola: await start('isola', 'src/index.ts', wranglerConfig),
    counted: await start('counted', 'bench/counting-worker.ts', wranglerConfig),
    bare: await start('bare', 'bench/bare-worker.ts', join(root, 'bench', 'bare-worker.toml')),
  }
}

const rowsOf = async ({ url }) => (await fetch(`${url}/__bench/rows`)).json()

/** One session of a Worker with what each step cost: rows, model calls, bytes and tokens. */
async function countSteps(model, server, session) {
  const costs = []
  for (const step of steps) {
    const before = { ...(await model.ask('counters')), ...(await rowsOf(server)) }
    await server.client.run(session, step)
    await sleep(400) // the audit flush and whatever else follows the answer
    const after = { ...(await model.ask('counters')), ...(await rowsOf(server)) }
    const spent = (name) => after[name] - before[name]
    costs.push({
      scenario: step.scenario,
      rows: spent('rows'),
      calls: spent('calls'),
      bytes: spent('bytes'),
      promptTokens: spent('promptTokens'),
    })
  }
  return costs
}

/** What Isola sends to the model at each of the steps, for (a) to send again. */
async function recordBodies({ model, isola }, session, plan) {
  const bodies = []
  for (const step of plan) {
    await model.ask('record')
    await isola.client.run(session, step)
    bodies.push((await model.ask('recorded')).map((body) => Buffer.from(JSON.stringify(body))))
  }
  return bodies
}

/** Each step by each system in a new random order, so that whatever drifts hits all alike. */
async function measure({ model, isola, bare }, plan, { name, rounds, isKept }) {
  const bodies = await recordBodies({ model, isola }, `${name}-record`, plan)
  const times = {}
  for (let round = 0; round < rounds; round += 1) {
    const session = `${name}-${seed}-${round}`
    for (const [at, step] of plan.entries()) {
      const runs = {
        a: () => replay(model.url, bodies[at]),
        b: () => bare.client.run(session, step),
        isola: () => isola.client.run(session, step),
      }
      for (const system of shuffled(Object.keys(runs), random)) {
        const { firstMs, totalMs } = await runs[system]()
        if (!isKept) continue
        times[step.scenario] ??= { a: [], b: [], isola: [] }
        times[step.scenario][system].push(step.stream ? firstMs : totalMs)
      }
    }
  }
  return times
}

/** Many sessions at once, each one run after another. */
async function measureCrowd({ model, isola, bare }, { sessions, runs, passes }) {
  const plan = Array.from({ length: runs }, () => plain)
  const bodies = await recordBodies({ model, isola }, 'crowd-record', plan)
  const systems = {
    a: (_session, at) => replay(model.url, bodies[at]),
    b: (session) => bare.client.run(session, plain),
    isola: (session) => isola.client.run(session, plain),
  }
  const results = { a: [], b: [], isola: [] }
  // Pass 0 warms up: the first crowd meets cold connections and empty caches.
  for (let pass = 0; pass <= passes; pass += 1) {
    for (const system of shuffled(Object.keys(systems), random)) {
      const times = []
      const startedMs = performance.now()
      const one = async (session) => {
        for (let at = 0; at < runs; at += 1)
          times.push((await systems[system](session, at)).totalMs)
      }
      await Promise.all(
        Array.from({ length: sessions }, (_, at) => one(`crowd-${seed}-${pass}-${at}`)),
      )
      const perSecond = (times.length * 1000) / (performance.now() - startedMs)
      if (pass > 0) results[system].push({ times, perSecond })
      await sleep(1_500) // what was put off (the audit log) belongs to nobody else's figures
    }
  }
  return results
}

function describeMachine() {
  const version = (...path) =>
    JSON.parse(readFileSync(toolFile(...path, 'package.json'), 'utf8')).version
  const [{ model: cpu }] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  console.log(
    `machine: ${cpus().length} × ${cpu}, ${memory} GiB, ${process.platform}-${process.arch}`,
  )
  console.log(
    `versions: node ${process.versions.node}, workerd ${version('workerd')}, ` +
      `miniflare ${version('miniflare')}, wrangler ${version('wrangler')}, hono ${version('hono')}`,
  )
  console.log(
    `counts: ${counts.warmups} warm-up rounds, ${counts.rounds} rounds of ${steps.length} steps, ` +
      `${counts.slowRounds} rounds with a slow model, ${counts.passes} × ${counts.sessions} sessions × ` +
      `${counts.runs} runs; seed ${seed}`,
  )
  console.log(
    'a: the same model requests sent straight to the model; b: a bare Hono Worker and Durable Object, one row ' +
      'a turn.\nModel: scripted, loopback, answers of 160 characters (10 deltas where streamed). Every state is ' +
      'on disk.\n',
  )
}

async function main() {
  describeMachine()
  await benchPluginCalls({ isQuick })
  console.log()
  const all = await startAll()
  const { model, isola, bare, counted } = all

  const costs = {
    isola: await countSteps(model, counted, `count-${seed}`),
    b: await countSteps(model, bare, `count-${seed}`),
  }
  const beforeJobs = await rowsOf(counted)
  await measure(all, steps, { name: 'warm', rounds: counts.warmups, isKept: false })
  const times = await measure(all, steps, { name: 'fast', rounds: counts.rounds, isKept: true })
  await model.ask('latency', 20)
  const slow = await measure(all, slowSteps, {
    name: 'slow',
    rounds: counts.slowRounds,
    isKept: true,
  })
  await model.ask('latency', 0)
  const crowd = await measureCrowd(all, counts)

  const errors = await model.ask('errors')
  if (errors.length > 0) throw new Error(`the script failed: ${errors[0]}`)
  for (const { stateDir } of [isola, bare]) {
    // Miniflare ignores the names its options had before: without files the figures would be of memory.
    if (objectFiles(stateDir).length < counts.rounds)
      throw new Error(`nothing is kept in ${stateDir}`)
  }
  printTimes('Time to the end of a run, or to the first token; ms, model latency 0', times)
  printTimes('The same with 20 ms of model latency', slow)
  printConcurrency(crowd, counts)
  printCosts(costs)
  // The recovery job of a session wakes once, 10 s after its first run, and is gone when there is nothing left.
  const jobs = (await rowsOf(counted)).rows - beforeJobs.rows
  console.log(`Rows written later by the recovery jobs of the two counted sessions: ${jobs}.`)
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => void cleanUp().finally(() => process.exit(1)))
}
try {
  await main()
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await cleanUp()
}
