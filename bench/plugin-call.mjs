// node bench/plugin-call.mjs [--quick]: what a call of a plugin costs in each host. Aim: warm at most twice a bare call.
import { join } from 'node:path'
import { root } from '../scripts/toolchain.mjs'
import { createRandom, median, percentile, shuffled } from './load.mjs'
import { build, makeTempDir, removeTempDir, serve } from './serve.mjs'

const isQuick = process.argv.includes('--quick')
/** Calls in one batch and batches of each kind: what a request itself costs is divided by the first. */
const plan = {
  direct: [5_000, 20],
  inProcess: [2_000, 20],
  bareWarm: [200, 40],
  warm: [200, 40],
  bareFresh: [10, 20],
  fresh: [10, 20],
}
const names = {
  direct: 'the function itself',
  inProcess: 'in-process',
  bareWarm: 'bare Worker Loader, warm',
  warm: 'isolate through the Runner, warm',
  bareFresh: 'bare Worker Loader, new isolate',
  fresh: 'isolate through the Runner, new isolate',
}
const temp = makeTempDir('plugin-call')
const config = join(root, 'bench', 'island-worker.toml')
const random = createRandom(1)
let server
try {
  const entry = join(root, 'bench', 'island-worker.ts')
  const folder = await build({ entry, config, outDir: join(temp, 'out') })
  server = await serve({ folder, config, vars: {}, stateDir: join(temp, 'state') })
  const batch = async (kind, count) => {
    const startedMs = performance.now()
    const response = await fetch(`${server.url}/?kind=${kind}&count=${count}`)
    if (!response.ok) throw new Error(`${kind}: ${response.status} ${await response.text()}`)
    return (performance.now() - startedMs) / count
  }
  const times = Object.fromEntries(Object.keys(plan).map((kind) => [kind, []]))
  for (const kind of Object.keys(plan)) await batch(kind, 5)
  const rounds = Object.entries(plan).flatMap(([kind, [count, batches]]) =>
    Array.from({ length: isQuick ? 3 : batches }, () => [kind, count]),
  )
  for (const [kind, count] of shuffled(rounds, random)) times[kind].push(await batch(kind, count))
  console.log('a call of a plugin, ms (median and 95th percentile of batches)')
  for (const [kind, values] of Object.entries(times)) {
    const figures = [median(values), percentile(values, 0.95)].map((ms) =>
      ms.toFixed(4).padStart(9),
    )
    console.log(`  ${names[kind].padEnd(42)}${figures.join('  ')}`)
  }
  const ratio = (a, b) => median(times[a]) / median(times[b])
  const warm = ratio('warm', 'bareWarm')
  console.log(`  warm / bare warm: ${warm.toFixed(2)}× (aim ≤ 2, ${warm <= 2 ? 'met' : 'missed'})`)
  console.log(`  new / bare new: ${ratio('fresh', 'bareFresh').toFixed(2)}×`)
} finally {
  await server?.close()
  removeTempDir(temp)
}
