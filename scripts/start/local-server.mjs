// The local Worker: its port, its database, its process, and when it answers.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { passOn } from '../server-output.mjs'
import { root, runNode, toolEnv, toolNode } from '../toolchain.mjs'

export const host = '127.0.0.1'
/** The folder of local data. */
export const statePath = resolve(root, process.env.ISOLA_STATE || '.wrangler/state')

/** Takes the port for a moment: the port itself (0 means any free one), or why it cannot be had. */
export function probePort(port) {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', (error) => done({ ok: false, error }))
    server.listen(port, host, () => {
      const free = server.address().port
      server.close(() => done({ ok: true, port: free }))
    })
  })
}

/** Says which migrations a local database has: beside it, so that it goes with it. */
const migratedPath = join(statePath, 'v3', 'd1', 'miniflare-D1DatabaseObject', 'isola-migrations')

/** Applies what is new in migrations/; throws if that fails. */
export async function migrate() {
  const folder = join(root, 'migrations')
  const files = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith('.sql'))
    : []
  if (files.length === 0) return
  // Which database it is, is in the configuration.
  const configHash = createHash('sha256').update(readFileSync(join(root, 'wrangler.toml')))
  const wanted = [configHash.digest('hex'), ...files.toSorted()].join('\n')
  if (existsSync(migratedPath) && readFileSync(migratedPath, 'utf8') === wanted) return
  const script = join(root, 'scripts', 'start', 'migrate.mjs')
  const { code, output } = await runNode([script, statePath], { capture: true })
  // It was refused, and the sentence says why.
  if (code === 2) throw new Error(output.trim())
  if (code !== 0) throw new Error(`${output.trim()}\nThe local database could not be migrated.`)
  mkdirSync(dirname(migratedPath), { recursive: true })
  writeFileSync(migratedPath, wanted)
}

/**
 * Starts the server behind the front in a process group of its own, so that all of it can be ended at once.
 *
 * @param options.folder Of its sockets (scripts/start/sockets.mjs).
 * @param options.vars What the Worker has of settings and secrets.
 */
export function startServing({ folder, vars, isLogged }) {
  const script = join(root, 'scripts', 'start', 'serve.mjs')
  const child = spawn(toolNode(), ['--no-warnings', script], {
    cwd: root,
    env: toolEnv(),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  // It may be gone before it heard; why is told by its end.
  child.send({ folder, statePath, vars, isLogged }, () => {})
  passOn(child.stdout, process.stdout)
  passOn(child.stderr, process.stderr)
  return child
}

/** @returns Whether it answered within three minutes. */
export async function waitUntilHealthy(url, isGone) {
  for (const untilMs = Date.now() + 180_000; Date.now() < untilMs && !isGone();) {
    const answered = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(10_000) }).then(
      (response) => response.ok,
      () => false,
    )
    if (answered) return true
    await new Promise((done) => setTimeout(done, 150))
  }
  return false
}
