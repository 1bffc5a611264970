// node bench/plugin-call.mjs [--quick]: what a call of a plugin costs in each host, and what its isolates are billed.
// Part of npm run bench. Aim: warm at most twice a bare call of the Worker Loader.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../scripts/toolchain.mjs'
import { createRandom, median, shuffled } from './load.mjs'
import { build, makeTempDir, removeTempDir, serve } from './serve.mjs'

/** Calls in one batch: what a request itself costs is divided by it. */
const kinds = {
  direct: ['the function itself', 2_000],
  inProcess: ['in-process', 500],
  bareWarm: ['bare Worker Loader, warm', 50],
  warm: ['isolate through the Runner, warm', 50],
  hooks: ['a batch of 8 hook calls, warm', 50],
  bareFresh: ['bare Worker Loader, new isolate', 5],
  fresh: ['isolate through the Runner, new isolate, 5 KB', 5],
  freshLarge: ['the same, 443 KB', 2],
}
/** What Cloudflare bills for each isolate id a day. */
const priceUsd = 0.002

async function measure(url, rounds) {
  const random = createRandom(1)
  const batch = async (kind, count) => {
    const startedMs = performance.now()
    const response = await fetch(`${url}/?kind=${kind}&count=${count}`)
    const text = await response.text()
    if (!response.ok) throw new Error(`${kind}: ${response.status} ${text}`)
    return (performance.now() - startedMs) / count
  }
  const times = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]))
  for (const [kind, [, count]] of Object.entries(kinds)) await batch(kind, count)
  for (let round = 0; round < rounds; round += 1)
    for (const kind of shuffled(Object.keys(kinds), random))
      times[kind].push(await batch(kind, kinds[kind][1]))
  return times
}

function print(times, rounds) {
  const of = (kind) => median(times[kind])
  console.log(
    `A call of a plugin: medians of ${rounds} interleaved rounds, and as ratios of a bare`,
  )
  console.log('call of the Worker Loader in the same run (of a new isolate for new ones)')
  for (const [kind, [name]] of Object.entries(kinds)) {
    const base = /fresh/i.test(kind) ? 'bareFresh' : 'bareWarm'
    const ratio = (of(kind) / of(base)).toFixed(2)
    const best = (Math.min(...times[kind]) / Math.min(...times[base])).toFixed(2)
    console.log(
      `  ${name.padEnd(46)}${of(kind).toFixed(4).padStart(9)} ms  ${ratio.padStart(6)}×  least ${best.padStart(6)}×`,
    )
  }
  const warm = of('warm') / of('bareWarm')
  console.log(`  warm / bare: ${warm.toFixed(2)}× (aim ≤ 2, ${warm <= 2 ? 'met' : 'missed'})`)
}

/** By the function that names isolates, over every pair of session and plugin. */
async function printIds(url) {
  const [sessions, plugins] = [1_000, 5]
  for (const tier of ['community', 'trusted']) {
    const query = `kind=ids&tier=${tier}&sessions=${sessions}&plugins=${plugins}`
    const ids = Number(await (await fetch(`${url}/?${query}`)).text())
    const usd = (ids * priceUsd).toFixed(2)
    console.log(
      `  ${sessions} sessions a day × ${plugins} plugins, ${tier}: ${ids} isolate ids, $${usd}`,
    )
  }
}

export async function benchPluginCalls({ isQuick }) {
  const temp = makeTempDir('plugin-call')
  const config = join(root, 'bench', 'island-worker.toml')
  const rounds = isQuick ? 15 : 60
  let server
  try {
    const entry = join(root, 'bench', 'island-worker.ts')
    const { folder } = await build({ entry, config, outDir: join(temp, 'out') })
    server = await serve({ folder, config, vars: {}, stateDir: join(temp, 'state') })
    print(await measure(server.url, rounds), rounds)
    await printIds(server.url)
  } finally {
    await server?.close()
    removeTempDir(temp)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  await benchPluginCalls({ isQuick: process.argv.includes('--quick') })
