// npm run bench [-- --quick] [-- --seed=7]: what a run costs a user, against two floors served the same way.
import { cpus, totalmem } from 'node:os'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, toolFile } from '../scripts/toolchain.mjs'
import { createClient, startModel } from './load.mjs'
import {
  countAtRest,
  countSteps,
  measure,
  measureCpu,
  measureCrowd,
  measureStarts,
} from './measure.mjs'
import { counts, isQuick, seed, slowSteps, steps } from './plan.mjs'
import { benchPluginCalls } from './plugin-call.mjs'
import { children } from './processes.mjs'
import { printConcurrency, printCosts, printCpu, printStart, printTimes } from './report.mjs'
import { build, makeTempDir, objectFiles, removeTempDir, serve, wranglerConfig } from './serve.mjs'

const key = 'isk_bench'

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
