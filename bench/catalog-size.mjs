// npm run catalog-size [-- --quick]: what much that is installed costs those who use little of it. Installs up to 2,000
// plugins and 200 MCP servers with 10,000 tools in the local runtime, and compares a cold start with that of 10
// plugins.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/toolchain.mjs'
import { startModelServer } from '../test/fakes/model-server.mjs'
import { createClient, median } from './load.mjs'
import { reply } from './model-script.mjs'
import { build, makeTempDir, removeTempDir, serve, wranglerConfig } from './serve.mjs'

const isQuick = process.argv.includes('--quick')
const rounds = isQuick ? 3 : 9
/** Plugins with 4 tools each, servers with 10. */
const sizes = [[10, 1], ...(isQuick ? [] : [[200, 20]]), [2_000, 200]]
const maxRatio = 1.5
const maxEnableMs = 1_000
const chunk = 100
const key = 'isk_bench'
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }

const toolsOf = ([plugins, servers]) => plugins * 4 + servers * 10
let named = 0
const nameOf = () => `size-${(named += 1)}`
const ms = (value) => `${value.toFixed(0)} ms`

async function install(url, from, to) {
  for (let at = 0; from[0] + at < to[0] || from[1] + at < to[1]; at += chunk) {
    const part = (index) => [
      Math.min(from[index] + at, to[index]),
      Math.min(from[index] + at + chunk, to[index]),
    ]
    const [p, s] = [part(0), part(1)]
    const query = `p0=${p[0]}&p1=${p[1]}&s0=${s[0]}&s1=${s[1]}`
    // Not over a connection that rested: the server may be closing it just then.
    const answer = await fetch(`${url}/__bench/seed?${query}`, { headers: { connection: 'close' } })
    if (!answer.ok) throw new Error(await answer.text())
    await answer.text()
  }
}

/** Bytes that the runtime below this process holds. */
function memoryBytes() {
  const statuses = readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return []
    try {
      return [readFileSync(`/proc/${pid}/status`, 'utf8')]
    } catch {
      return [] // it has ended
    }
  })
  const own = statuses.filter(
    (text) => /^Name:\s+workerd/m.test(text) && text.includes(`PPid:\t${process.pid}\n`),
  )
  return own.reduce((sum, text) => sum + 1_024 * Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0), 0)
}

async function callJson(url, json) {
  const startedMs = performance.now()
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(json) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${text}`)
  return { tookMs: performance.now() - startedMs, value: JSON.parse(text) }
}

/** Adds, grants and enables one more, as an operator does. */
async function enableOne(url, id) {
  const code = `export default () => ({ tools: { say: async () => 'said' } })`
  const tools = [{ name: 'say', description: 'Says something.' }]
  const manifest = { id, name: id, version: '1.0.0', entrypoint: 'main.js', description: 'Says.' }
  const bundle = { manifest: { ...manifest, contributes: { tools } }, code, files: {} }
  const plugins = `${url}/api/operator/plugins`
  const added = await callJson(plugins, { bundle })
  const { hash, asks: permit } = added.value.plugin
  const granted = await callJson(`${plugins}/${id}/grant`, { hash, permit, texts: true })
  const enabled = await callJson(`${plugins}/${id}/enable`, {})
  return [added, granted, enabled].map(({ tookMs }) => tookMs)
}

/** The first chat of a fresh process, its second, and what its Catalog answers. */
async function coldStart(start) {
  const server = await start()
  try {
    const client = createClient(server.url, { authorization: `Bearer ${key}` })
    const task = { task: 'bench plain 0' }
    const { totalMs: coldMs } = await client.run(nameOf(), task)
    const bytes = memoryBytes()
    const { totalMs: warmMs } = await client.run(nameOf(), task)
    return { coldMs, warmMs, bytes }
  } finally {
    await server.close()
  }
}

const temp = makeTempDir('catalog-size')
const model = await startModelServer({ script: reply })
const vars = {
  ISOLA_OPERATOR_KEY: key,
  ISOLA_ENV: 'development',
  ISOLA_MODEL: 'openai/bench',
  OPENAI_BASE_URL: model.url,
}
let isMet = true
try {
  const entry = join(root, 'bench', 'catalog-worker.ts')
  const { folder } = await build({ entry, config: wranglerConfig, outDir: join(temp, 'out') })
  let before = [0, 0]
  const stateDir = join(temp, 'state')
  const serveFrom = (isMigrated) =>
    serve({ folder, config: wranglerConfig, vars, stateDir, isMigrated })
  const start = () => serveFrom(true)
  let first
  let flat
  let tokens
  for (const size of sizes) {
    const server = await serveFrom(size !== sizes[0])
    const startedMs = performance.now()
    await install(server.url, before, size)
    const installedMs = performance.now() - startedMs
    await server.close()
    await coldStart(start) // the Catalog takes over what it had not heard of
    const cold = []
    for (let round = 0; round < rounds; round += 1) cold.push(await coldStart(start))
    const again = await start()
    const answers = await (await fetch(`${again.url}/__bench/look`)).json()
    const { prompt } = await (await fetch(`${again.url}/api/operator/policy`, { headers })).json()
    const steps = await enableOne(again.url, `one-more-${size[0]}`)
    const found = await (await fetch(`${again.url}/__bench/search`)).json()
    await again.close()
    const restarted = await start()
    const afterRestart = await (await fetch(`${restarted.url}/__bench/search`)).json()
    await restarted.close()
    const coldMs = median(cold.map((one) => one.coldMs))
    first ??= coldMs
    const ratio = coldMs / first
    console.log(
      `${size[0]} plugins, ${size[1]} MCP servers, ${toolsOf(size)} tools (installed in ${ms(installedMs)})`,
    )
    console.log(
      `  first chat of a fresh process  ${ms(coldMs)}, ${ratio.toFixed(2)}× that with ${sizes[0][0]} plugins ` +
        `(aim ≤ ${maxRatio})`,
    )
    console.log(`  second chat                    ${ms(median(cold.map((one) => one.warmMs)))}`)
    console.log(
      `  memory after the first         ${(median(cold.map((one) => one.bytes)) / 1e6).toFixed(0)} MB of the ` +
        'whole runtime',
    )
    console.log(
      `  shipped at a cold start        ${answers.look.bytes} bytes, ${answers.look.rowsRead ?? 0} rows ` +
        `read; again ${answers.lookAgain.bytes} bytes`,
    )
    tokens ??= prompt.tokens
    console.log(
      `  the orchestrator's prompt      ${prompt.tokens} tokens (aim ≤ ${prompt.most}, the same at each size)`,
    )
    console.log(
      `  one tool by its name           ${answers.part.bytes} bytes, ${answers.part.rowsRead ?? 0} row(s) read`,
    )
    console.log(
      `  one more: add, grant, enable   ${steps.map(ms).join(', ')} (aim < ${ms(maxEnableMs)} each)`,
    )
    console.log(`  search: first of all, two more ${found.map(ms).join(', ')}`)
    console.log(`  search: first of a new process ${afterRestart.map(ms).join(', ')}`)
    // From the second size on: a number of more digits is all that may be longer.
    const shipped = [answers.look, answers.part].map(({ bytes, rowsRead = 0 }) => [bytes, rowsRead])
    if (size !== sizes[0]) flat ??= shipped
    const isFlat = shipped.every(([bytes, rows], at) => {
      const [was, wereRows] = flat?.[at] ?? [bytes, rows]
      return bytes <= was + 10 && rows === wereRows
    })
    if (flat) console.log(`  the same as at the size before ${isFlat ? 'yes' : 'no'}`)
    isMet &&= tokens === prompt.tokens && tokens <= prompt.most
    isMet &&= isFlat && ratio <= maxRatio && steps.every((step) => step < maxEnableMs)
    before = size
  }
} finally {
  await model.close()
  removeTempDir(temp)
}
console.log(isMet ? 'All aims are met.' : 'An aim is missed.')
process.exitCode = isMet ? 0 : 1
