// npm run codex: the real codex command line works through a task that is longer than it may remember, against a local
// server with a scripted model behind it. It compacts on its way in each of the ways it has, and its last step needs
// what only its first ones told. Installs the package (pinned below) into folders of its own, which are kept.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toolEnv, toolNode } from '../../scripts/toolchain.mjs'
import { startModelServer } from '../fakes/model-server.mjs'
import { buildWorker, operatorKey, startServer } from '../faults/local-server.mjs'
import { install } from './install.mjs'

const steps = 9

/**
 * How codex compacts: by asking for a summary or, where its provider has this name, with an item behind the others, or
 * at the route for it, as older versions do.
 */
const ways = [
  { version: '0.169.0', name: 'Isola', by: 'summary' },
  { version: '0.169.0', name: 'OpenAI', by: 'trigger' },
  { version: '0.130.0', name: 'OpenAI', by: 'route' },
]

/** Installs a version into a folder of its own. @returns The program. */
function programOf(version) {
  const folder = install(`isola-codex-${version}`, { '@openai/codex': version }, '@openai/codex')
  return join(folder, 'node_modules', '@openai', 'codex', 'bin', 'codex.js')
}

const codeOf = (step) => `CODE-${step}-${(step * 7919).toString(36)}`
const codesIn = (text) => [...new Set(text.match(/CODE-\d-[0-9a-z]+/g))]

/** Reads one file after the other with codex's own tool, then writes the codes of all that it still knows of. */
function script({ body }) {
  const { messages, tools = [] } = body
  const said = JSON.stringify(messages)
  const codes = codesIn(said)
  const isSummary = /You write the notes|CONTEXT CHECKPOINT|handoff summary/i.test(
    JSON.stringify([messages[0], messages.at(-1)]),
  )
  if (isSummary)
    return {
      text: `Read so far, each with its code: ${codes.join(' ')}. Next is the one after them.`,
    }
  const step = codes.length + 1
  const shell = tools.find(({ function: { name } }) =>
    /(^|__)(exec_command|shell_command|shell)$/.test(name),
  )
  if (!shell)
    return { text: `There is no shell among ${tools.map((tool) => tool.function.name).join(' ')}` }
  const { name, parameters } = shell.function
  const run = (command) => {
    const { properties = {} } = parameters
    const isList = properties.command?.type === 'array'
    const given = properties.cmd
      ? { cmd: command }
      : { command: isList ? ['bash', '-c', command] : command }
    return { toolCalls: [{ name, arguments: given }] }
  }
  if (step <= steps) return run(`cat step-${step}.txt`)
  const isWritten = JSON.stringify(messages.slice(-2)).includes('result.txt')
  return isWritten
    ? { text: 'Done.' }
    : run(`printf '%s' '${codes.join(' ')}' > result.txt && echo wrote result.txt`)
}

/** A folder to work in, in which each file is long. */
function workFolder() {
  const work = mkdtempSync(join(tmpdir(), 'isola-codex-work-'))
  for (let step = 1; step <= steps; step += 1) {
    const filler = Array.from(
      { length: 220 },
      (_, line) => `line ${line} of step ${step}: nothing to see here`,
    )
    writeFileSync(join(work, `step-${step}.txt`), `${codeOf(step)}\n${filler.join('\n')}\n`)
  }
  return work
}

function settingsOf({ name }, url) {
  const home = mkdtempSync(join(tmpdir(), 'isola-codex-home-'))
  mkdirSync(home, { recursive: true })
  const lines = [
    'model = "orchestrator"',
    'model_provider = "isola"',
    'model_context_window = 200000',
    'model_auto_compact_token_limit = 24000',
    'approval_policy = "never"',
    'sandbox_mode = "danger-full-access"',
    'check_for_update_on_startup = false',
    '[analytics]',
    'enabled = false',
    '[model_providers.isola]',
    `name = "${name}"`,
    `base_url = "${url}/v1"`,
    'env_key = "ISOLA_KEY"',
    'wire_api = "responses"',
    'request_max_retries = 0',
    'stream_max_retries = 0',
    'supports_websockets = false',
    '[features]',
    'enable_request_compression = false',
  ]
  writeFileSync(join(home, 'config.toml'), `${lines.join('\n')}\n`)
  return home
}

/** @returns The compactions on the way, and the result that the last step wrote. */
async function work(way, url, model) {
  const [cwd, home] = [workFolder(), settingsOf(way, url)]
  const before = model.requests.length
  const task = `Read step-1.txt to step-${steps}.txt one after the other, each begins with a code. Then write all codes into result.txt.`
  const child = spawn(
    toolNode(),
    [programOf(way.version), 'exec', '--json', '--skip-git-repo-check', task],
    {
      cwd,
      env: { ...toolEnv(), CODEX_HOME: home, ISOLA_KEY: operatorKey },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 180_000,
    },
  )
  const told = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => told.push(String(data)))
  const [code] = await once(child, 'close')
  const asked = model.requests.slice(before).map(({ body }) => JSON.stringify(body.messages))
  let result = ''
  try {
    result = readFileSync(join(cwd, 'result.txt'), 'utf8')
  } catch {
    // It did not come that far.
  }
  rmSync(cwd, { recursive: true, force: true })
  rmSync(home, { recursive: true, force: true })
  const longest = Math.max(...asked.map(({ length }) => length))
  return { code, told: told.join(''), result, longest }
}

/** Passes everything on, and notes how a compaction was asked for. */
async function startWitness(url) {
  const seen = []
  const passOn = async (req, res) => {
    const parts = []
    for await (const part of req) parts.push(part)
    const body = Buffer.concat(parts).toString('utf8')
    if (req.url === '/v1/responses/compact') seen.push('route')
    if (body.includes('"compaction_trigger"')) seen.push('trigger')
    if (/CONTEXT CHECKPOINT/i.test(body)) seen.push('summary')
    if (body.includes('"encrypted_content":"isola.1.')) seen.push('kept')
    const {
      host: _host,
      connection: _connection,
      'content-length': _length,
      ...headers
    } = req.headers
    const answer = await fetch(url + req.url, {
      method: req.method,
      headers,
      ...(body && { body }),
    })
    res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    for await (const part of answer.body ?? []) res.write(part)
    res.end()
  }
  const server = createServer((req, res) => void passOn(req, res).catch(() => res.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => new Promise((done) => (server.closeAllConnections(), server.close(done)))
  return { url: `http://127.0.0.1:${server.address().port}`, seen, close }
}

const model = await startModelServer({ script })
const built = mkdtempSync(join(tmpdir(), 'isola-build-'))
await buildWorker(join(built, 'worker'))
const vars = {
  OPENAI_BASE_URL: model.url,
  OPENAI_API_KEY: 'scripted',
  ISOLA_MODEL: 'openai/scripted',
}
const server = await startServer({ folder: join(built, 'worker'), vars })
const expected = Array.from({ length: steps }, (_, index) => codeOf(index + 1)).join(' ')
const witness = await startWitness(server.url)
let failed = 0
try {
  for (const way of ways) {
    const from = witness.seen.length
    const { code, told, result, longest } = await work(way, witness.url, model)
    const seen = witness.seen.slice(from)
    const count = (what) => seen.filter((one) => one === what).length
    const asked = count(way.by)
    const goesOn = way.by === 'summary' || count('kept') > 0
    const isWell = code === 0 && result === expected && asked > 0 && goesOn
    if (!isWell) failed += 1
    console.log(
      `${isWell ? 'ok   ' : 'FAIL '} codex ${way.version}, provider ${way.name}: ${asked} compactions by ${way.by}, longest request ${longest} characters`,
    )
    if (!isWell)
      console.log(
        `      exit ${code}, wrote ${JSON.stringify(result)}, saw ${seen}\n${told.slice(-4_000)}`,
      )
  }
} finally {
  await witness.close()
  await server.close()
  await model.close()
  rmSync(built, { recursive: true, force: true })
}
console.log(`${ways.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
