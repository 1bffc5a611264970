// npm run bench [-- --quick] [-- --seed=7]: what a run costs a user, against two floors served the same way.
import { cpus, totalmem } from 'node:os'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, toolFile } from '../scripts/toolchain.mjs'
import { createClient, createRandom, replay, shuffled, startModel } from './load.mjs'
import { benchPluginCalls } from './plugin-call.mjs'
import { children, cpuMs } from './processes.mjs'
import { printConcurrency, printCosts, printCpu, printStart, printTimes } from './report.mjs'
import { build, makeTempDir, objectFiles, removeTempDir, serve, wranglerConfig } from './serve.mjs'

const isQuick = process.argv.includes('--quick')
const seed = Number(process.argv.find((text) => text.startsWith('--seed='))?.slice(7) ?? 1)
const counts = isQuick
  ? {
      warmups: 3,
      rounds: 15,
      slowRounds: 5,
      cpuBlocks: 3,
      starts: 2,
      passes: 1,
      sessions: 16,
      runs: 5,
    }
  : {
      warmups: 10,
      rounds: 100,
      slowRounds: 30,
      cpuBlocks: 12,
      starts: 7,
      passes: 3,
      sessions: 64,
      runs: 10,
    }

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

const floorConfig = join(root, 'bench', 'floors', 'floors.toml')
const floorEntry = 'bench/floors/floor-worker.ts'
const workers = {
  isola: { entry: 'src/index.ts', config: wranglerConfig },
  counted: { entry: 'bench/counting-worker.ts', config: wranglerConfig },
  bare: { entry: floorEntry, config: floorConfig },
  journal: { entry: floorEntry, config: floorConfig, vars: { JOURNAL: '1' } },
}

async function startAll() {
  const temp = makeTempDir('run')
  onEnd(() => removeTempDir(temp))
  const model = await startModel()
  onEnd(() => model.close())
  const shared = {
    ISOLA_OPERATOR_KEY: key,
    ISOLA_ENV: 'development',
    ISOLA_MODEL: 'openai/bench',
    OPENAI_BASE_URL: model.url,
  }
  const started = {}
  for (const [name, { entry, config, vars = {} }] of Object.entries(workers)) {
    const built = await build({ entry: join(root, entry), config, outDir: join(temp, name) })
    const options = { folder: built.folder, config, vars: { ...shared, ...vars } }
    const stateDir = join(temp, `${name}-state`)
    const before = new Set(children())
    const server = await serve({ ...options, stateDir })
    onEnd(() => server.close())
    started[name] = {
      url: server.url,
      stateDir,
      upload: built,
      pids: children().filter((pid) => !before.has(pid)),
      client: createClient(server.url, { authorization: `Bearer ${key}` }),
      /** Once more, over a folder of its own: what a start takes. */
      startAgain: (isMigrated) =>
        serve({ ...options, stateDir: join(temp, `${name}-starts`), isMigrated }),
    }
  }
  return { model, ...started }
}

const countsOf = async ({ url }) => (await fetch(`${url}/__bench/counts`)).json()

/** One session of a Worker with what each step cost: rows, model calls, bytes and tokens. */
async function countSteps(model, server, session) {
  const costs = []
  for (const step of steps) {
    const before = { ...(await model.ask('counters')), ...(await countsOf(server)) }
    await server.client.run(session, step)
    await sleep(3_000) // the record leaves for the database, and whatever else follows the answer
    const after = { ...(await model.ask('counters')), ...(await countsOf(server)) }
    const spent = (name) => (after[name] ?? 0) - (before[name] ?? 0)
    const names = ['rows', 'd1Rows', 'alarms', 'statements', 'calls', 'bytes', 'promptTokens']
    costs.push({
      scenario: step.scenario,
      ...Object.fromEntries(names.map((name) => [name, spent(name)])),
    })
  }
  return costs
}

/** What a plain run of a session at rest writes until it rests again: the recovery job comes after ten seconds. */
async function countAtRest(server, session) {
  await server.client.run(session, plain)
  await sleep(12_000)
  const before = await countsOf(server)
  await server.client.run(session, plain)
  await sleep(12_000)
  const after = await countsOf(server)
  const names = ['rows', 'd1Rows', 'alarms', 'statements']
  return Object.fromEntries(names.map((name) => [name, after[name] - before[name]]))
}

/** What a floor sends to the model at each of the steps, for the model alone to answer again. */
async function recordBodies({ model, bare }, session, plan) {
  const bodies = []
  for (const step of plan) {
    await model.ask('record')
    await bare.client.run(session, step)
    bodies.push((await model.ask('recorded')).map((body) => Buffer.from(JSON.stringify(body))))
  }
  return bodies
}

const systems = ['direct', 'bare', 'journal', 'isola']

/** Each step by each system in a new random order, so that whatever drifts hits all alike. */
async function measure(all, plan, { name, rounds, isKept }) {
  const bodies = await recordBodies(all, `${name}-record`, plan)
  const times = {}
  for (let round = 0; round < rounds; round += 1) {
    const session = `${name}-${seed}-${round}`
    for (const [at, step] of plan.entries()) {
      for (const system of shuffled(systems, random)) {
        const { firstMs, totalMs } =
          system === 'direct'
            ? await replay(all.model.url, bodies[at])
            : await all[system].client.run(session, step)
        if (!isKept) continue
        times[step.scenario] ??= Object.fromEntries(systems.map((each) => [each, []]))
        times[step.scenario][system].push(step.stream ? firstMs : totalMs)
      }
    }
  }
  return times
}

/** CPU of the server's processes for plain runs in blocks, with the work that follows the answers inside. */
async function measureCpu(all, blocks) {
  const perBlock = 40
  const used = { bare: [], journal: [], isola: [] }
  for (let block = 0; block <= blocks; block += 1) {
    for (const system of shuffled(Object.keys(used), random)) {
      const { client, pids } = all[system]
      const session = (at) => `cpu-${seed}-${block}-${at % 10}`
      for (let at = 0; at < 10; at += 1) await client.run(session(at), plain)
      await sleep(300)
      const before = cpuMs(pids)
      for (let at = 0; at < perBlock; at += 1) await client.run(session(at), plain)
      await sleep(300)
      if (block > 0) used[system].push((cpuMs(pids) - before) / perBlock)
    }
  }
  return used
}

/** Process start to first answer, over a database that has its tables. */
async function measureStarts(all, count) {
  const times = { bare: [], isola: [] }
  for (const system of Object.keys(times)) await (await all[system].startAgain(false)).close()
  for (let round = 0; round < count; round += 1) {
    for (const system of shuffled(Object.keys(times), random)) {
      const startedMs = performance.now()
      const server = await all[system].startAgain(true)
      const response = await fetch(`${server.url}/healthz`)
      await response.text()
      times[system].push(performance.now() - startedMs)
      await server.close()
      if (!response.ok) throw new Error(`${system} answered ${response.status} after its start`)
    }
  }
  return times
}

/** Many sessions at once, each one run after another. */
async function measureCrowd(all, { sessions, runs, passes }) {
  const crowd = ['bare', 'journal', 'isola']
  const results = Object.fromEntries(crowd.map((system) => [system, []]))
  // Pass 0 warms up: the first crowd meets cold connections and empty caches.
  for (let pass = 0; pass <= passes; pass += 1) {
    for (const system of shuffled(crowd, random)) {
      const times = []
      const startedMs = performance.now()
      const one = async (session) => {
        for (let at = 0; at < runs; at += 1)
          times.push((await all[system].client.run(session, plain)).totalMs)
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
      `${counts.slowRounds} rounds with a slow model, ${counts.cpuBlocks} blocks of CPU, ` +
      `${counts.starts} starts, ${counts.passes} × ${counts.sessions} sessions × ${counts.runs} runs; seed ${seed}`,
  )
  console.log(
    'direct: the requests of bare-do sent straight to the model. bare-do: Hono and a Durable Object, one row a ' +
      'turn. journal: the same, one row a step, so that a turn goes on after a kill.\nAdded: median less that of ' +
      'direct; ratios are of what is added. Model: scripted, loopback, answers of 160 characters (10 deltas where ' +
      'streamed). Every state is on disk.\n',
  )
}

async function main() {
  describeMachine()
  await benchPluginCalls({ isQuick })
  console.log()
  const all = await startAll()
  const { model, counted } = all

  const costs = {
    isola: await countSteps(model, counted, `count-${seed}`),
    bare: await countSteps(model, all.bare, `count-${seed}`),
    journal: await countSteps(model, all.journal, `count-${seed}`),
  }
  const atRest = await countAtRest(counted, `rest-${seed}`)
  await measure(all, steps, { name: 'warm', rounds: counts.warmups, isKept: false })
  const times = await measure(all, steps, { name: 'fast', rounds: counts.rounds, isKept: true })
  await model.ask('latency', 20)
  const slow = await measure(all, slowSteps, {
    name: 'slow',
    rounds: counts.slowRounds,
    isKept: true,
  })
  await model.ask('latency', 0)
  const cpu = await measureCpu(all, counts.cpuBlocks)
  const crowd = await measureCrowd(all, counts)
  const starts = await measureStarts(all, counts.starts)

  const errors = await model.ask('errors')
  if (errors.length > 0) throw new Error(`the script failed: ${errors[0]}`)
  for (const { stateDir } of [all.isola, all.bare, all.journal]) {
    // Miniflare ignores the names its options had before: without files the figures would be of memory.
    if (objectFiles(stateDir).length < counts.rounds)
      throw new Error(`nothing is kept in ${stateDir}`)
  }
  printTimes('Time to the end of a run, or to the first token; ms, model latency 0', times)
  printTimes('The same with 20 ms of model latency', slow)
  printCpu(cpu)
  printConcurrency(crowd, counts)
  printCosts(costs, atRest)
  printStart(starts, { isola: all.isola.upload, bare: all.bare.upload })
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
