// npm start: from a fresh clone to a running server on loopback. Uses node builtins only until
// packages are installed.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureVars, passedOn } from './dev-vars.mjs'
import { openFront } from './front.mjs'
import { checkModel as tryModel } from './isola/doctor/model.mjs'
import { askForHosts, mayAsk, networkLine, readNetwork } from './network.mjs'
import { passOn } from './server-output.mjs'
import { supervise } from './supervise.mjs'
import { ensureInstalled, root, runNode, toolEnv, toolNode, tools } from './toolchain.mjs'

const host = '127.0.0.1'
const statePath = resolve(root, process.env.ISOLA_STATE || '.wrangler/state')

function fail(message) {
  console.error(message)
  process.exit(1)
}

function openVars(path) {
  try {
    return ensureVars(path)
  } catch (error) {
    return fail(error.message)
  }
}

/** The port asked for; unset or empty is the default. */
function parsePort(value = '') {
  const port = value.trim() === '' ? 8787 : Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    fail(`PORT must be a port number, not "${value}".`)
  return port
}

/** Takes the port for a moment: the port itself (0 means any free one), or why it cannot be had. */
function probePort(port) {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', (error) => done({ ok: false, error }))
    server.listen(port, host, () => {
      const free = server.address().port
      server.close(() => done({ ok: true, port: free }))
    })
  })
}

async function migrate() {
  const folder = join(root, 'migrations')
  if (!existsSync(folder) || !readdirSync(folder).some((name) => name.endsWith('.sql'))) return
  const { code, output } = await runNode(
    [tools.wrangler, 'd1', 'migrations', 'apply', 'DB', '--local', '--persist-to', statePath],
    { capture: true },
  )
  if (code !== 0) fail(`${output.trim()}\nThe local database could not be migrated.`)
}

/** Starts wrangler in a process group of its own, so that all of it can be ended at once. */
function startWrangler({ port, varsFiles, isLogged }) {
  const args = [
    '--no-warnings',
    `--import=${pathToFileURL(join(root, 'scripts', 'guard.mjs')).href}`,
    tools.wrangler,
    'dev',
    '--local',
    `--ip=${host}`,
    `--port=${port}`,
    '--inspector-port=0',
    `--persist-to=${statePath}`,
    `--log-level=${isLogged ? 'info' : 'warn'}`,
    '--show-interactive-dev-session=false',
    // Files rather than --var: a process list shows arguments to everyone on the machine.
    ...varsFiles.flatMap((path) => ['--env-file', path]),
  ]
  const child = spawn(toolNode(), args, {
    cwd: root,
    // Its explorer of the local databases asks for no key.
    env: toolEnv({ X_LOCAL_EXPLORER: 'false' }),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  passOn(child.stdout, process.stdout)
  passOn(child.stderr, process.stderr)
  return child
}

async function waitUntilHealthy(url, isGone) {
  for (const untilMs = Date.now() + 60_000; Date.now() < untilMs && !isGone();) {
    const answered = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(10_000) }).then(
      (response) => response.ok,
      () => false,
    )
    if (answered) return true
    await new Promise((done) => setTimeout(done, 150))
  }
  return false
}

/** The parent of a process where /proc tells, else undefined. */
function parentOf(pid) {
  try {
    return /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}

/** The offline model comes first, or is the only one. */
const isOffline = (model = '') => /^\s*offline(\/offline)?\s*(,|$)/.test(model)

/** Stops at a base URL that is none, and at servers that are no JSON. The values are not repeated: they may hold a password. */
function checkModel(settings) {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, ISOLA_MODEL: model } = settings
  const { ISOLA_PROVIDERS: providers, ISOLA_PRICES: prices } = settings
  if (providers && !isJson(providers)) fail('ISOLA_PROVIDERS is not JSON on one line.')
  if (prices && !isJson(prices)) fail('ISOLA_PRICES is not JSON on one line.')
  if (baseUrl && !(URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)))
    fail('OPENAI_BASE_URL is not an http or https URL, such as http://localhost:11434/v1.')
  if (model && !isOffline(model) && !baseUrl && !apiKey && !providers) {
    console.log(
      `ISOLA_MODEL=${model} has no server (OPENAI_API_KEY or OPENAI_BASE_URL): the offline model answers.`,
    )
  }
}

function isJson(text) {
  try {
    return Boolean(JSON.parse(text))
  } catch {
    return false
  }
}

/** A URL as it may be shown: without user, password and query. */
function shownUrl(text) {
  const { protocol, host: server, pathname } = new URL(text)
  return `${protocol}//${server}${pathname}`
}

function describeModel(settings) {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, ISOLA_MODEL: model } = settings
  if (settings.ISOLA_PROVIDERS && !isOffline(model)) return model || 'default of ISOLA_PROVIDERS'
  if ((!baseUrl && !apiKey) || isOffline(model)) return 'offline (built-in, deterministic)'
  return `${model || 'default'} at ${baseUrl ? shownUrl(baseUrl) : 'api.openai.com'}`
}

/** One real request to each model server, and whether a cost limit meets a model without a price; start goes on. */
async function describeTrial(trial, problem) {
  const findings = await trial
  const lines = [
    ...findings.flatMap(({ state, what, fix }) => (state === 'ok' ? [] : [what, fix])),
    problem,
  ]
  return lines.flatMap((line) => (line ? [`\n         ${line}`] : [])).join('')
}

const port = parsePort(process.env.PORT)
const probe = await probePort(port)
if (!probe.ok) {
  const taken = probe.error.code === 'EADDRINUSE'
  fail(
    taken
      ? `Port ${port} is taken on ${host}. Stop what uses it, or choose another: PORT=${port + 1} npm start`
      : `Port ${port} cannot be used: ${probe.error.message}`,
  )
}

await ensureInstalled().catch((error) => fail(error.message))

const varsPath = join(root, '.dev.vars')
const { vars, created, added } = openVars(varsPath)
if (created) console.log('Created .dev.vars with new keys.')
if (added.length > 0) console.log(`Added to .dev.vars: ${added.join(', ')}.`)

// Model settings of the shell win over .dev.vars.
const shell = Object.fromEntries(
  passedOn.filter((name) => process.env[name]).map((name) => [name, process.env[name]]),
)
checkModel({ ...vars, ...shell })
const trial = tryModel({ env: shell, vars }).catch(() => [])

const generated = await runNode([join(root, 'scripts', 'generate.mjs')], { capture: true })
if (generated.code !== 0) fail(generated.output.trim())
console.log('Starting …')
mkdirSync(statePath, { recursive: true })
await migrate()

// Wrangler reads the shell's settings, and what belongs to this start, from a file of this run.
const shellPath = join(statePath, `shell-${process.pid}.vars`)
const quote = (value) => (value.includes("'") ? `"${value}"` : `'${value}'`)
// Its own port it learns here: the http tools may read the server itself, and nothing else of this machine.
const lines = Object.entries({ ...shell, ISOLA_PORT: String(probe.port) }).map(
  ([name, value]) => `${name}=${quote(value)}\n`,
)
writeFileSync(shellPath, lines.join(''), { mode: 0o600 })

const { port: innerPort } = await probePort(0)
const server = supervise({
  start: () =>
    startWrangler({
      // Wrangler shows a line for each request then, too.
      isLogged: (shell.ISOLA_LOG ?? vars.ISOLA_LOG) === 'info',
      port: innerPort,
      varsFiles: [varsPath, shellPath],
    }),
  onEnded: ({ why, isAgain }) => {
    console.error(`The server ended (${why})${isAgain ? ': it is started again.' : '.'}`)
    if (!isAgain) stop(1)
  },
})
let stopping = false

function stop(code) {
  if (stopping) return
  stopping = true
  void server.stop().then(() => {
    rmSync(shellPath, { force: true })
    process.exit(code)
  })
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(0))
// Under npm (npm → sh → us): when npm is killed outright, nobody is left to stop us.
const ancestors = [process.ppid, parentOf(process.ppid)]
if (process.env.npm_lifecycle_event) {
  const isOrphan = () => process.ppid !== ancestors[0] || parentOf(process.ppid) !== ancestors[1]
  setInterval(() => isOrphan() && stop(1), 500).unref()
}

await openFront({
  host,
  port: probe.port,
  target: { host, port: innerPort },
  onReached: server.ready,
  onUnreachable: server.replace,
}).catch((error) => {
  console.error(`Port ${probe.port} cannot be used: ${error.message}`)
  stop(1)
})
const url = `http://localhost:${probe.port}`

/** A request of the operator's to the server that was started. */
async function request(path, { method = 'GET', json } = {}) {
  const response = await fetch(`http://${host}:${probe.port}${path}`, {
    method,
    signal: AbortSignal.timeout(15_000),
    headers: {
      authorization: `Bearer ${vars.ISOLA_OPERATOR_KEY}`,
      'content-type': 'application/json',
    },
    ...(json && { body: JSON.stringify(json) }),
  })
  const answer = await response.json()
  if (!response.ok) {
    const { message = `answered ${response.status}` } = answer.error ?? {}
    throw Object.assign(new Error(message), { status: response.status })
  }
  return answer
}

/**
 * What the server itself says: of its model, and of a setting for which it answers nothing. Nothing of either if it
 * cannot be asked, since it runs all the same.
 */
const serverProblems = () =>
  request('/api/operator/health').then(
    ({ models }) => ({ model: models?.problem }),
    ({ status, message }) => (status === 503 ? { setting: message } : {}),
  )

/** One line; before it a question where this is the first start, and somebody is there. */
async function describeNetwork() {
  const { stdin, stdout, env } = process
  if (created && mayAsk({ stdin, stdout, env }))
    await askForHosts({ request, say: (line) => console.log(line), stdin, stdout })
  return readNetwork(request).then(networkLine, (error) => `not known: ${error.message}`)
}

if (!(await waitUntilHealthy(`http://${host}:${probe.port}`, () => !server.isRunning()))) {
  if (!stopping) console.error('The server did not answer /healthz within a minute.')
  stop(1)
} else if (!stopping) {
  const problems = await serverProblems()
  const network = problems.setting ? 'not known' : await describeNetwork()
  const said = await describeTrial(trial, problems.model)
  if (problems.setting)
    console.error(
      `\nA SETTING IS WRONG, and every request is refused until it is put right:\n  ${problems.setting}\nMend it in .dev.vars or in this shell, and start again.`,
    )
  console.log(`
Isola is running.
  URL    ${url}
  Key    ${vars.ISOLA_OPERATOR_KEY}
  Model  ${describeModel({ ...vars, ...shell })}${said}
  Net    ${network}

Try it:
  curl ${url}/v1/chat/completions \\
    -H 'authorization: Bearer ${vars.ISOLA_OPERATOR_KEY}' \\
    -H 'content-type: application/json' \\
    -d '{"model":"orchestrator","messages":[{"role":"user","content":"What can you do?"}]}'

Or talk to it in a second terminal:
  ${probe.port === 8787 ? '' : `PORT=${probe.port} `}npm run isola -- chat

Ctrl-C stops it.`)
}
