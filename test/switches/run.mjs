// npm run switches [-- --only <name>[,<name>…]] [--project unit|workers] [--jobs N]
// Takes each protection away once and expects a red test; ends with the table.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { markVariable, offVariable, withoutProtection } from './plugin.mjs'
import { switches } from './switches.mjs'

const root = join(import.meta.dirname, '../..')
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
/** A test that hangs without its protection is red: it need not hang for long. */
const timeouts = { unit: 5_000, workers: 20_000 }
/** Longer than any file takes, on a machine that has much else to do. */
const maxRunMs = 180_000

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    project: { type: 'string' },
    jobs: { type: 'string', default: '1' },
  },
})
const only = values.only?.split(',')
const unknown = only?.filter((name) => !switches.some((one) => one.name === name)) ?? []
if (unknown.length > 0) {
  console.error(`no such switch: ${unknown.join(', ')}`)
  process.exit(2)
}
const chosen = switches.filter(
  ({ name, project }) =>
    (!only || only.includes(name)) && (!values.project || project === values.project),
)
const folder = mkdtempSync(join(tmpdir(), 'isola-switches-'))
let count = 0

/**
 * Runs test files, all switches on or one off.
 *
 * @returns Which test was red first, how many passed, whether the switch was really off, and what was said.
 */
async function runTests({ project, tests, filter, off }) {
  const id = (count += 1)
  const [report, mark] = [join(folder, `${id}.json`), join(folder, `${id}.off`)]
  const args = [
    vitest,
    'run',
    // Where it shares a Worker, and where it does not.
    `--project=${project}*`,
    '--bail=1',
    '--reporter=json',
    `--outputFile=${report}`,
    `--testTimeout=${timeouts[project]}`,
    ...(filter ? ['--testNamePattern', filter] : []),
    ...tests,
  ]
  const env = { ...process.env, [markVariable]: mark, ...(off ? { [offVariable]: off } : {}) }
  if (!off) delete env[offVariable]
  const said = await collect(spawn(process.execPath, args, { cwd: root, env, detached: true }))
  const files = read(report, JSON.parse)?.testResults ?? []
  const results = files.flatMap(({ assertionResults }) => assertionResults)
  return {
    red: results.find(({ status }) => status === 'failed')?.fullName,
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
function baselineOf({ project, tests, filter }) {
  const key = JSON.stringify([project, tests, filter])
  if (!baselines.has(key)) baselines.set(key, runTests({ project, tests, filter }))
  return baselines.get(key)
}

async function judge(one) {
  if (one.unseen !== undefined) return { one, verdict: 'unseen', text: `unseen: ${one.unseen}` }
  try {
    withoutProtection(readFileSync(join(root, one.file), 'utf8'), one)
  } catch (error) {
    return { one, verdict: 'missed', text: `NOT VALID: ${error.message}` }
  }
  const before = await baselineOf(one)
  if (before.red !== undefined || before.passed === 0 || before.problem !== undefined) {
    const why = before.red ?? before.problem ?? `nothing ran: ${before.said.trim().slice(-500)}`
    return { one, verdict: 'missed', text: `NOT VALID, red with it on: ${why}` }
  }
  const { red, isOff, problem, said } = await runTests({ ...one, off: one.name })
  if (red !== undefined && isOff) return { one, verdict: 'caught', text: red }
  const why = !isOff
    ? `was never off: ${said.trim().slice(-500)}`
    : (problem ?? 'no test turned red')
  return { one, verdict: 'missed', text: `MISSED: ${why}` }
}

const pad = (text, width) => text.padEnd(width)
const nameWidth = Math.max(...chosen.map(({ name }) => name.length), 6)
const fileWidth = Math.max(...chosen.map(({ file }) => file.length), 4)
const line = (name, file, text) =>
  console.log(
    `${pad(name, nameWidth)} | ${pad(file, fileWidth)} | ${text.replace(/\s+/g, ' ').slice(0, 300)}`,
  )

line('switch', 'file', 'first test that turned red')
const rows = []
const waiting = [...chosen]
async function work() {
  for (let one = waiting.shift(); one; one = waiting.shift()) {
    const row = await judge(one)
    rows.push(row)
    line(one.name, one.file, row.text)
  }
}
try {
  await Promise.all(Array.from({ length: Math.max(1, Number(values.jobs) || 1) }, work))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const of = (verdict) => rows.filter((row) => row.verdict === verdict).length
if (of('unseen') > 0) console.log(`${of('unseen')} cannot be seen on one machine`)
console.log(`${rows.length} switches, ${of('caught')} caught, ${of('missed')} missed`)
process.exitCode = of('missed') > 0 ? 1 : 0
