// npm start: from a fresh clone to a running server on loopback. Uses node builtins only until
// packages are installed.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureVars, parseVars, passedOn } from './dev-vars.mjs'
import { openFront } from './front.mjs'
import { takeLock } from './install-lock.mjs'
import { checkModel } from './start/check-model.mjs'
import { askForHosts, mayAsk, networkLine, readNetwork } from './network.mjs'
import {
  host,
  migrate,
  probePort,
  startServing,
  statePath,
  waitUntilHealthy,
} from './start/local-server.mjs'
import { describeModel, describeTrial, modelNote, modelProblem } from './start/model-settings.mjs'
import { makeSocketFolder, socketsIn } from './start/sockets.mjs'
import { supervise } from './supervise.mjs'
import { ensureInstalled, root, runNode } from './toolchain.mjs'

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

/** An older Node cannot read `.dev.vars`: that is said before anything is installed. */
function checkNode() {
  try {
    parseVars('')
  } catch (error) {
    fail(error.message)
  }
}

/** The port asked for; unset or empty is the default. */
function parsePort(value = '') {
  const port = value.trim() === '' ? 8787 : Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    fail(`PORT must be a port number, not "${value}".`)
  return port
}

/** The parent of a process where /proc tells, else undefined. */
function parentOf(pid) {
  try {
    return /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}

/**
 * Takes the folder of local data: two servers over one would write the same databases, and know nothing of each
 * other.
 */
function takeState(port) {
  const lock = join(statePath, 'lock')
  const holder = takeLock(lock, { port })
  if (holder)
    fail(
      `${statePath} is in use: process ${holder.pid} serves it at http://localhost:${holder.port}. Stop that ` +
        `one (Ctrl-C there, or kill ${holder.pid}), or give this one its own data and port: ` +
        `ISOLA_STATE=<folder> PORT=${Number(holder.port) + 1} npm start`,
    )
  process.once('exit', () => rmSync(lock, { force: true }))
}

checkNode()
const port = parsePort(process.env.PORT)
const probe = await probePort(port)
takeState(probe.ok ? probe.port : port)
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
const settings = { ...vars, ...shell }
const problem = modelProblem(settings)
if (problem) fail(problem)
const note = modelNote(settings)
if (note) console.log(note)
const trial = checkModel({ env: shell, vars }).catch(() => [])

const generated = await runNode([join(root, 'scripts', 'generate.mjs')], { capture: true })
if (generated.code !== 0) fail(generated.output.trim())
console.log('Starting …')
await migrate().catch((error) => fail(error.message))

const sockets = makeSocketFolder()
process.once('exit', () => rmSync(sockets, { recursive: true, force: true }))
const server = supervise({
  start: () =>
    startServing({
      folder: sockets,
      isLogged: (shell.ISOLA_LOG ?? vars.ISOLA_LOG) === 'info',
      // Its own port it learns here: the http tools may read the server itself, and nothing else of this machine.
      vars: { ...vars, ...shell, ISOLA_PORT: String(probe.port) },
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
  void server.stop().then(() => process.exit(code))
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(0))
// Under npm (npm → sh → us): when npm is killed outright, no signal reaches us.
const ancestors = [process.ppid, parentOf(process.ppid)]
if (process.env.npm_lifecycle_event) {
  const isOrphan = () => process.ppid !== ancestors[0] || parentOf(process.ppid) !== ancestors[1]
  setInterval(() => isOrphan() && stop(1), 500).unref()
}

const { worker, entry } = socketsIn(sockets)
/**
 * So long the process behind the front has to put another workerd in the place of one that ended, or a newer Worker.
 */
const patienceMs = 5_000
let unreachableSinceMs
await openFront({
  host,
  port: probe.port,
  target: { socketPath: worker },
  triggers: { socketPath: entry },
  onReached: () => {
    unreachableSinceMs = undefined
    server.ready()
  },
  onUnreachable: () => {
    unreachableSinceMs ??= Date.now()
    if (Date.now() - unreachableSinceMs > patienceMs) server.replace()
  },
}).catch((error) => {
  console.error(`Port ${probe.port} cannot be used: ${error.message}`)
  stop(1)
})
const url = `http://localhost:${probe.port}`

/** A request of the operator's to the server that was started. */
async function request(route, { body } = {}) {
  const [method, path] = route.split(' ')
  const response = await fetch(`http://${host}:${probe.port}${path}`, {
    method,
    signal: AbortSignal.timeout(15_000),
    headers: {
      authorization: `Bearer ${vars.ISOLA_OPERATOR_KEY}`,
      'content-type': 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
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
  request('GET /api/operator/health').then(
    ({ models }) => ({ model: models?.problem }),
    ({ status, message }) => (status === 503 ? { setting: message } : {}),
  )

/** Prints one line about the network. At the first start, with a person at the terminal, asks for hosts before. */
async function describeNetwork() {
  const { stdin, stdout, env } = process
  if (created && mayAsk({ stdin, stdout, env }))
    await askForHosts({
      open: (allow) => request('POST /api/operator/http', { body: { allow } }),
      say: (line) => console.log(line),
      stdin,
      stdout,
    })
  return readNetwork(() => request('GET /api/operator/http')).then(
    networkLine,
    (error) => `not known: ${error.message}`,
  )
}

if (!(await waitUntilHealthy(`http://${host}:${probe.port}`, () => !server.isRunning()))) {
  if (!stopping) console.error('The server did not answer /healthz within three minutes.')
  stop(1)
} else if (!stopping) {
  const problems = await serverProblems()
  const network = problems.setting ? 'not known' : await describeNetwork()
  const said = await describeTrial(trial, problems.model)
  if (problems.setting)
    console.error(
      `\nA SETTING IS WRONG, and every request is refused until it is put right:\n  ` +
        `${problems.setting}\nMend it in .dev.vars or in this shell, and start again.`,
    )
  console.log(`
Isola is running.
  URL    ${url}
  Key    ${vars.ISOLA_OPERATOR_KEY}
  Model  ${describeModel(settings)}${said}
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
