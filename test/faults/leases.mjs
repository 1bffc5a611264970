// node test/faults/leases.mjs [--rounds 50 --seed 1 --together 2]
//
// test/conformance/leases.workers.test.ts for as many rounds as asked: in each a hundred sub-agents side by side
// below two runs of one principal, real Session objects all, a tenth of them killed on their way. Last line:
// `rounds N children M overspend 0 leaked 0 least-share R`, R the part of an equal share that the child got who got
// least.
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { stripVTControlCharacters } from 'node:util'
import { root, toolEnv, toolNode, tools } from '../../scripts/toolchain.mjs'
import { numberOption } from './local-server.mjs'

const rounds = numberOption('rounds', 50)
const seed = numberOption('seed', 1)
const together = numberOption('together', Math.min(2, availableParallelism()))
/** The test pool gets slower with every object it has made. */
const perProcess = 2

const waiting = []
for (let done = 0; done < rounds; done += perProcess) {
  waiting.push({ seed: seed + done, rounds: Math.min(perProcess, rounds - done) })
}
const reports = []
const failures = []

/** Runs rounds in a process of their own; a process that hangs is ended, and counts as a failure. */
function runPart(part) {
  const file = 'test/conformance/leases.workers.test.ts'
  const env = toolEnv({
    VITE_LEASE_ROUNDS: String(part.rounds),
    VITE_LEASE_SEED: String(part.seed),
  })
  return new Promise((resolve) => {
    execFile(
      toolNode(),
      [tools.vitest, 'run', '--project', 'workers*', file],
      { cwd: root, env, timeout: 420_000, maxBuffer: 64 * 1_048_576 },
      (error, stdout, stderr) => {
        const output = stripVTControlCharacters(`${stdout}\n${stderr}`)
        resolve({ code: error ? 1 : 0, output })
      },
    )
  })
}

async function work() {
  for (let part = waiting.shift(); part; part = waiting.shift()) {
    const { code, output } = await runPart(part)
    const report = /^leases (\{.*\})$/m.exec(output)?.[1]
    if (report) reports.push(JSON.parse(report))
    if (code !== 0 || !report) failures.push({ ...part, output })
    const sum = reports.reduce((all, { rounds: count }) => all + count, 0)
    console.log(`seed ${part.seed}: ${report ?? 'no report'} (${sum} of ${rounds} rounds)`)
  }
}

await Promise.all(Array.from({ length: Math.max(1, together) }, work))
for (const { seed: at, output } of failures) console.error(`seed ${at} failed:\n${output}`)
const sumOf = (name) => reports.reduce((all, report) => all + report[name], 0)
// JSON has no Infinity: a part that measured nothing says null.
const leastOf = (name) => Math.min(...reports.map((report) => report[name] ?? 0))
const least = Math.min(leastOf('leastGiven'), leastOf('leastServed'))
console.log(
  `crashes ${sumOf('crashes')}; at the same moment ${Math.max(...reports.map(({ most }) => most))}; ` +
    `least given ${leastOf('leastGiven').toFixed(3)}, least served ${leastOf('leastServed').toFixed(3)}`,
)
const [overspend, leaked] = [sumOf('overspend'), sumOf('leaked')]
console.log(
  `rounds ${sumOf('rounds')} children ${sumOf('children')} overspend ${overspend} leaked ${leaked} ` +
    `least-share ${least.toFixed(3)}`,
)
const isGood =
  failures.length === 0 &&
  overspend === 0 &&
  leaked === 0 &&
  least >= 0.5 &&
  sumOf('children') === 100 * rounds
process.exit(isGood ? 0 : 1)
