// npm run switches [-- --only <name>[,<name>…]] [--seeded 8 [--seed <text>]] [--no-baseline] [--jobs N]
// Takes protections away, one at a time, and expects a red test; ends with the table. `--seeded` draws some of them: the
// seed is the commit where none is given. `--no-baseline` skips the run without changes, for tests that were just green.
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { root, tools } from '../../scripts/toolchain.mjs'
import { switches } from './all.mjs'
import { isOnlyLate, judge } from './judge.mjs'
import { markVariable, offVariable, withoutProtection } from './plugin.mjs'

/** A test that hangs without its protection is red, if it does not with it: it need not hang for long. */
const timeouts = { unit: 20_000, workers: 60_000 }
/** Longer than any file takes, on a machine that has much else to do. */
const maxRunMs = 400_000

const { values } = parseArgs({
  allowNegative: true,
  options: {
    only: { type: 'string' },
    seeded: { type: 'string' },
    seed: { type: 'string' },
    baseline: { type: 'boolean', default: true },
    jobs: { type: 'string', default: '1' },
  },
})

function commit() {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  } catch {
    return 'no commit'
  }
}

/** So many of them, others with each seed. */
function draw(count, seed) {
  const place = ({ name }) => createHash('sha256').update(`${seed} ${name}`).digest('hex')
  console.log(`${count} of ${switches.length} switches, drawn by --seed ${JSON.stringify(seed)}`)
  return switches.toSorted((a, b) => (place(a) < place(b) ? -1 : 1)).slice(0, count)
}

function choose() {
  if (values.seeded) return draw(Number(values.seeded), values.seed ?? commit())
  const only = values.only?.split(',')
  const unknown = only?.filter((name) => !switches.some((one) => one.name === name)) ?? []
  if (unknown.length > 0) throw new Error(`no such switch: ${unknown.join(', ')}`)
  return switches.filter(({ name }) => !only || only.includes(name))
}

const chosen = choose()
const folder = mkdtempSync(join(tmpdir(), 'isola-switches-'))
let count = 0

/**
 * Runs a test file, all switches on or one off.
 *
 * @returns Which test was red first and whether it only was late, how many passed, whether the switch was really off, and what was said.
 */
async function runTest({ project, test, only, off }) {
  const id = (count += 1)
  const [report, mark] = [join(folder, `${id}.json`), join(folder, `${id}.off`)]
  const args = [
    tools.vitest,
    'run',
    // Where it shares a process or Worker, and where it does not.
    `--project=${project}*`,
    '--bail=1',
    '--reporter=json',
    `--outputFile=${report}`,
    `--testTimeout=${timeouts[project]}`,
    ...(only ? ['--testNamePattern', only] : []),
    test,
  ]
  const env = { ...process.env, [markVariable]: mark, ...(off ? { [offVariable]: off } : {}) }
  if (!off) delete env[offVariable]
  const said = await collect(spawn(process.execPath, args, { cwd: root, env, detached: true }))
  const files = read(report, JSON.parse)?.testResults ?? []
  const results = files.flatMap(({ assertionResults }) => assertionResults)
  const failed = results.find(({ status }) => status === 'failed')
  return {
    red: failed?.fullName,
    isLate: failed !== undefined && isOnlyLate(failed),
    passed: results.filter(({ status }) => status === 'passed').length,
    isOff: read(mark, (text) => text.includes(off ?? '')) ?? false,
    // A file that does not even load is not a test that noticed something.
    problem: files.find(
      ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
    )?.message,
    said,
  }
}

function read(path, parse) {
  try {
    return parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Process groups that run: a test that hangs is ended with everything below it. */
const running = new Set()
function end(child) {
  running.delete(child)
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It is gone already, which is what was wanted.
  }
}
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    running.forEach(end)
    rmSync(folder, { recursive: true, force: true })
    process.exit(1)
  })
}

function collect(child) {
  let said = ''
  running.add(child)
  const timer = setTimeout(() => end(child), maxRunMs)
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => (said = (said + data).slice(-4_000)))
  }
  return new Promise((resolve) => {
    child.on('close', () => {
      clearTimeout(timer)
      end(child)
      resolve(said)
    })
  })
}

/** With all switches on: the same tests are green, or the row says nothing. */
const baselines = new Map()
function baselineOf({ project, test, only }) {
  const key = JSON.stringify([test, only])
  if (!baselines.has(key)) baselines.set(key, runTest({ project, test, only }))
  return baselines.get(key)
}

async function check(one) {
  try {
    withoutProtection(readFileSync(join(root, one.file), 'utf8'), one)
  } catch (error) {
    return { isCaught: false, text: `NOT VALID: ${error.message}` }
  }
  return judge({
    before: values.baseline ? await baselineOf(one) : undefined,
    without: () => runTest({ ...one, off: one.name }),
    baseline: () => baselineOf(one),
  })
}

const nameWidth = Math.max(...chosen.map(({ name }) => name.length), 6)
const fileWidth = Math.max(...chosen.map(({ file }) => file.length), 4)
const line = (name, file, text) =>
  console.log(
    `${name.padEnd(nameWidth)} | ${file.padEnd(fileWidth)} | ${text.replace(/\s+/g, ' ').slice(0, 300)}`,
  )

line('switch', 'file', 'first test that turned red')
let caught = 0
const waiting = [...chosen]
async function work() {
  for (let one = waiting.shift(); one; one = waiting.shift()) {
    const { isCaught, text } = await check(one)
    caught += isCaught ? 1 : 0
    line(one.name, one.file, text)
  }
}
try {
  await Promise.all(Array.from({ length: Math.max(1, Number(values.jobs) || 1) }, work))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(`${chosen.length} switches, ${caught} caught, ${chosen.length - caught} missed`)
process.exitCode = caught === chosen.length ? 0 : 1
