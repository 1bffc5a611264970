// Functions that every script needs before anything is installed. Node builtins only: this runs on Node 20,
// in a clone without node_modules.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { withLock } from './install-lock.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Whether this is a clone, with the Worker in it; else the command alone, as `npm pack` made it. */
export const isClone = existsSync(join(root, 'wrangler.toml'))

/**
 * The folder of a package: in a clone its own, so that a fresh one sees that it is missing; else wherever npm put it.
 */
function packageFolder(name) {
  const own = join(root, 'node_modules', name)
  if (isClone) return own
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
  } catch {
    return own
  }
}

/** Path of a package's file, for `node <file>`: no shell, no wrapper process between us and the tool. */
export const toolFile = (name, ...parts) => join(packageFolder(name), ...parts)

const ownPackage = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** How the packages are installed that a project has to ask for: they are large, and few commands need them. */
const installLine = (...names) => {
  const { peerDependencies = {} } = ownPackage()
  return `npm install --save-dev ${names.map((name) => `${name}@${peerDependencies[name]}`).join(' ')}`
}

/** A file of a package that a clone has, and that an author's project installs where it builds plugins. */
export function largeToolFile(name, ...parts) {
  const file = toolFile(name, ...parts)
  if (existsSync(file)) return file
  throw new Error(
    `This needs the package ${name}, which is not installed. All that plugins are built and tested with: ` +
      `${installLine('esbuild', 'miniflare')}`,
  )
}

const pinnedNode = toolFile('node', 'bin', 'node')
const majorOf = (version) => Number(version.split('.')[0])

/** The Node that tools run on: the `node` package's, since wrangler wants 22 and a machine may have 20. */
export function toolNode() {
  if (existsSync(pinnedNode)) return pinnedNode
  if (majorOf(process.versions.node) >= 22) return process.execPath
  throw new Error(
    existsSync(toolFile('node', 'package.json'))
      ? 'The package `node` has no binary here (were install scripts switched off?): run `npm rebuild node`, ' +
          'or use Node 22 or later.'
      : `Node 22 or later is needed, this is ${process.versions.node}. To bring one along: ${installLine('node')}`,
  )
}

/** The environment that tools run in: pinned Node first on PATH, no prompts, no reports. */
export function toolEnv(extra = {}) {
  const path = [dirname(toolNode()), join(root, 'node_modules', '.bin'), process.env.PATH].join(
    delimiter,
  )
  return {
    ...process.env,
    PATH: path,
    CI: '1',
    WRANGLER_HIDE_BANNER: 'true',
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_SEND_ERROR_REPORTS: 'false',
    // Compiling programs of many megabytes is slow, so the result is cached, in a folder that only this user writes.
    ...(isClone && { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'isola') }),
    // A made-up request.cf for local runs: starting up must not depend on the network.
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    ...extra,
  }
}

export const tools = {
  knip: toolFile('knip', 'bin', 'knip.js'),
  oxfmt: toolFile('oxfmt', 'bin', 'oxfmt'),
  oxlint: toolFile('oxlint', 'bin', 'oxlint'),
  tsc: toolFile('typescript', 'bin', 'tsc'),
  vitest: toolFile('vitest', 'vitest.mjs'),
  // The file behind bin/wrangler.js, which would only spawn a second Node.
  wrangler: toolFile('wrangler', 'wrangler-dist', 'cli.js'),
}

/**
 * Runs `node <args>` with the tool environment.
 * @returns Exit code, and the output if `capture` is set (otherwise it goes to the terminal).
 */
export function runNode(args, { capture = false, env = {}, cwd = root } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(toolNode(), ['--no-warnings', ...args], {
      cwd,
      env: toolEnv(env),
      stdio: capture ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
    })
    let output = ''
    child.stdout?.on('data', (chunk) => (output += chunk))
    child.stderr?.on('data', (chunk) => (output += chunk))
    child.on('error', reject)
    child.on('close', (code, signal) =>
      resolve({ code: signal ? 1 : (code ?? 1), output: stripVTControlCharacters(output) }),
    )
  })
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Why node_modules is not what package-lock.json says, or undefined if it is. */
export function staleReason() {
  const wanted = readJson(join(root, 'package-lock.json'))?.packages
  if (!wanted) throw new Error('package-lock.json is missing or is not JSON')
  const installed = readJson(join(root, 'node_modules', '.package-lock.json'))?.packages
  if (!installed) return 'node_modules is missing'
  for (const [path, { version }] of Object.entries(installed)) {
    // A package beyond the lock does no harm: the `node` package installs its binary itself.
    if (wanted[path] && wanted[path].version !== version)
      return `${path} is ${version}, not ${wanted[path].version}`
  }
  for (const [path, entry] of Object.entries(wanted)) {
    const skippable = path === '' || entry.optional || entry.devOptional || entry.peer || entry.link
    if (!skippable && !installed[path]) return `${path} is not installed`
  }
  if (!existsSync(pinnedNode) && majorOf(process.versions.node) < 22)
    return 'the node package has no binary'
  return undefined
}

/**
 * Runs `npm ci` if node_modules is missing or stale, one command at a time, with a line of progress every few
 * seconds: to the error output, since a program may read the other.
 */
export async function ensureInstalled() {
  if (!staleReason()) return
  await withLock(join(root, '.wrangler', 'installing'), install, {
    onWait: () => console.error('Waiting for another command that installs packages here …'),
  })
}

async function install() {
  const reason = staleReason()
  // Another command did it meanwhile.
  if (!reason) return
  const startedMs = Date.now()
  const seconds = () => Math.round((Date.now() - startedMs) / 1000)
  console.error(`Installing packages (${reason}); the first time takes a minute or two …`)
  const ticker = setInterval(() => console.error(`  still installing, ${seconds()} s`), 4000)
  const { code, output } = await runNpm([
    'ci',
    '--include=dev',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ])
  clearInterval(ticker)
  if (code !== 0) {
    console.error(output)
    throw new Error(`npm ci failed with code ${code}`)
  }
  const left = staleReason()
  if (left)
    throw new Error(`after npm ci ${left}: were install scripts switched off (ignore-scripts)?`)
  console.error(`Installed in ${seconds()} s.`)
}

function runNpm(args) {
  // Under `npm start` npm names itself; its own file works where no npm is on PATH.
  const npmFile = process.env.npm_execpath
  const [command, first] =
    npmFile && npmFile.endsWith('npm-cli.js') ? [process.execPath, [npmFile]] : ['npm', []]
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}
