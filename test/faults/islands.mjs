// npm run islands [-- --probes 10 --acknowledged 8 --seed 1]
//
// What only the platform stops, in a process of its own: a plugin of tier community that was installed over the API
// spins, hoards or explodes inside the real local server, where workerd enforces neither CPU nor memory. A watchdog
// kills the server when it answers no more and starts it again over the same folder of data; then it must be back, and
// everything that was acknowledged before must have ended. Last line: `probes N lost 0 back in max M ms`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startServer } from '../e2e/server.ts'
import { startModelServer } from '../fakes/model-server.mjs'
import { createRandom, numberOption, sleep } from './local-server.mjs'

/** Bodies of tools. Each is one call away from taking its process along. */
const bodies = {
  loop: 'for (;;);',
  memory: 'const kept = []; for (;;) kept.push(new Array(1_000_000).fill(kept.length + 0.5))',
  microtasks: 'const spin = () => Promise.resolve().then(spin); return spin()',
  regex: "return /^(a+)+$/.test('a'.repeat(60) + 'b')",
  string:
    "const parts = []; for (let at = 0; at < 8; at += 1) parts.push('x'.repeat(2 ** 28) + at); return parts.join('').length",
}
const names = Object.keys(bodies)
const options = {
  probes: numberOption('probes', 10),
  acknowledged: numberOption('acknowledged', 8),
  seed: numberOption('seed', 1),
}
const random = createRandom(options.seed)
/** A server without an answer for so long hangs. */
const deafAfterMs = 3_000
const endWithinMs = 240_000
const terminal = new Set(['completed', 'stopped', 'failed', 'cancelled'])

const temp = mkdtempSync(join(tmpdir(), 'isola-islands-'))
const port = await freePort()
const model = await startModelServer({
  script({ body: { messages } }) {
    const asked = messages.findLastIndex(({ role }) => role === 'user')
    const [, tool, token] = /\[(\S+) (\S+)\]/.exec(JSON.stringify(messages[asked].content)) ?? []
    const answer = messages.slice(asked).findLast(({ role }) => role === 'tool')
    if (answer) return { text: `${token}: ${answer.content}` }
    const input = tool === 'kv__set' ? { key: token, value: token } : {}
    return { toolCalls: [{ name: 'isola__call', arguments: { name: tool, input } }] }
  },
})
const start = () =>
  startServer({
    state: join(temp, 'state'),
    port,
    env: { ISOLA_MODEL: 'openai/scripted', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk' },
  })
let server = await start()

async function request(path, json, method = 'POST') {
  const response = await fetch(`${server.url}${path}`, {
    method: json === undefined ? 'GET' : method,
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 500)}`)
  return JSON.parse(text)
}

async function install() {
  const tools = { ...bodies, hello: "return 'hello'" }
  const manifest = {
    id: 'hostile',
    name: 'Hostile',
    version: '1.0.0',
    entrypoint: 'main.js',
    description: 'Takes what it can.',
    contributes: {
      tools: Object.keys(tools).map((name) => ({
        name,
        description: `Does ${name}.`,
        timeout_ms: 5_000,
      })),
    },
  }
  const code = `export default () => ({ tools: { ${Object.entries(tools)
    .map(([name, body]) => `async ${name}() { ${body} }`)
    .join(', ')} } })`
  const { plugin } = await request('/api/operator/plugins', {
    bundle: { manifest, code, files: {} },
  })
  await request('/api/operator/plugins/hostile/enable', {})
  return plugin.tier
}

/** Submits a run; no client waits for it. */
async function submit(tool, token) {
  const { id: session } = await request('/api/sessions', {})
  const { run } = await request(`/api/sessions/${session}/runs`, { task: `Do [${tool} ${token}].` })
  return { session, run, tool, token }
}

async function ended({ session, run }) {
  for (const untilMs = Date.now() + endWithinMs; Date.now() < untilMs; await sleep(200)) {
    const view = await request(`/api/sessions/${session}/runs/${run}`).catch(() => undefined)
    if (terminal.has(view?.state)) return view
  }
  return undefined
}

const isHealthy = () =>
  fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(deafAfterMs) }).then(
    (response) => response.ok,
    () => false,
  )

/** Looks until the call has ended one way or the other. @returns The longest silence of the server, 0 if it always answered. */
async function watch(probe) {
  let heardAtMs = performance.now()
  for (let looks = 0; looks < 1_000; looks += 1) {
    if (!(await isHealthy())) {
      await server.kill()
      server = await start()
      return Math.round(performance.now() - heardAtMs)
    }
    heardAtMs = performance.now()
    const { session, run } = probe
    const view = await request(`/api/sessions/${session}/runs/${run}`).catch(() => undefined)
    if (terminal.has(view?.state)) return 0
    await sleep(100)
  }
  throw new Error('the call of the plugin neither ended nor took the server along')
}

const problems = []
const acknowledged = []
let [maxBackMs, downs] = [0, 0]
try {
  console.log(`installed as ${await install()}`)
  for (let count = 0; count < options.probes; count += 1) {
    const name = count < names.length ? names[count] : random.pick(names)
    for (let more = 0; more < options.acknowledged; more += 1) {
      const tool = random.pick(['kv__set', 'hostile__hello'])
      acknowledged.push(await submit(tool, `t${count}-${more}`))
    }
    const probe = await submit(`hostile__${name}`, `p${count}`)
    acknowledged.push(probe)
    const backMs = await watch(probe)
    maxBackMs = Math.max(maxBackMs, backMs)
    if (backMs > 0) downs += 1
    const view = await ended(probe)
    const how = backMs > 0 ? `took the server along, back in ${backMs} ms` : 'stayed alone'
    console.log(`${name}: ${how}; ${String(view?.result?.result ?? view?.state).slice(0, 120)}`)
  }
  for (const message of acknowledged) {
    const view = await ended(message)
    const isProbe = message.token.startsWith('p')
    // A call that was cut is told as such; it is not made again.
    if (!view) problems.push(`${message.token} (${message.tool}) did not end`)
    else if (!isProbe && !String(view.result?.result).startsWith(`${message.token}: `))
      problems.push(`${message.token} (${message.tool}) ended as ${view.state}`)
  }
  await request('/api/operator/plugins/hostile/disable', {})
  const last = await ended(await submit('hostile__loop', 'last'))
  if (!String(last?.result?.result).includes('tool_not_found'))
    problems.push(`switched off, it was still called: ${JSON.stringify(last?.result)}`)
  if (downs === 0) problems.push('nothing took the server along: the probes probe nothing')
} catch (error) {
  problems.push(`${error.stack} ${error.cause ?? ''}`)
} finally {
  await server.stop().catch(() => {})
  await model.close()
  rmSync(temp, { recursive: true, force: true })
}
for (const problem of problems) console.error(problem)
console.log(`acknowledged ${acknowledged.length}, the server was taken along ${downs} times`)
console.log(`probes ${options.probes} lost ${problems.length} back in max ${maxBackMs} ms`)
process.exit(problems.length > 0 ? 1 : 0)
