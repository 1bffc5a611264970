// npm run nightly [-- --only faults,kills]
//
// The work that takes too long for `npm test`: every test in its long form (ISOLA_NIGHTLY), every harness in full,
// and every switch, a mutant of every place. One after the other, a line each with its last line; the output of each
// is kept. Last line: `N ok, N failed`.
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { root, toolEnv, toolNode, tools } from './toolchain.mjs'

const { values } = parseArgs({ options: { only: { type: 'string' } } })
const harness = (...path) => [join('test', ...path)]

const campaigns = {
  tests: [tools.vitest, 'run'],
  switches: harness('switches', 'run.mjs'),
  mutation: harness('mutation', 'run.mjs'),
  faults: harness('faults', 'run.mjs'),
  kills: harness('faults', 'kills.mjs'),
  retries: harness('faults', 'retries.mjs'),
  retention: harness('faults', 'retention.mjs'),
  islands: harness('faults', 'islands.mjs'),
  leases: harness('faults', 'leases.mjs'),
  'mcp-suite': harness('mcp-suite', 'run.mjs'),
  compaction: harness('context', 'compaction.ts'),
  dojo: harness('dojo', 'main.ts'),
  window: harness('longlife', 'window.mjs'),
  longlife: harness('longlife', 'longlife.mjs'),
}

const logs = join(root, 'node_modules', '.cache', 'isola', 'nightly')
mkdirSync(logs, { recursive: true })
const only = values.only?.split(',') ?? Object.keys(campaigns)
const unknown = only.filter((name) => !Object.hasOwn(campaigns, name))
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}`)

/** @returns whether it is well, its last line, and how long it took. */
function runCampaign(name) {
  const beganMs = performance.now()
  const log = createWriteStream(join(logs, `${name}.log`))
  const child = spawn(toolNode(), ['--no-warnings', ...campaigns[name]], {
    cwd: root,
    env: toolEnv({ ISOLA_NIGHTLY: '1' }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let last = ''
  const take = (chunk) => {
    log.write(chunk)
    last = `${last}${chunk}`.trimEnd().split('\n').at(-1)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ isOk: false, last: error.message, seconds: 0 }))
    child.once('close', (code) => {
      log.end()
      const seconds = Math.round((performance.now() - beganMs) / 1000)
      resolve({ isOk: code === 0, last, seconds })
    })
  })
}

let [ok, sum] = [0, 0]
for (const name of only) {
  const { isOk, last, seconds } = await runCampaign(name)
  ok += isOk ? 1 : 0
  sum += seconds
  console.log(
    `${isOk ? 'ok  ' : 'FAIL'} ${name.padEnd(10)} ${String(seconds).padStart(6)} s  ${last}`,
  )
}
console.log(`${sum} s; the output is in ${logs}`)
console.log(`${ok} ok, ${only.length - ok} failed`)
process.exitCode = ok === only.length ? 0 : 1
