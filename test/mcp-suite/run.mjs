// node test/mcp-suite/run.mjs [--part server|authorization|client] [--revision 2026-07-28] [--scenario tools-list]
//   [--url http://… --key …] [--some 4 --seed 1] [--verbose]
//
// The official suite against the real local server, for each revision, against its authorization server, and with our
// client (src/mcp) against the suite's own servers: a scenario counts as passed only with a check that succeeded, and none
// that failed. Last line: `N passed, N failed`; an expected failure is in expected.mjs and is no failure, as long as it
// does fail.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../scripts/toolchain.mjs'
import { printAuthorization, runAuthorization } from './authorization.mjs'
import { printClient, runClient } from './client-scores.mjs'
import { expected } from './expected.mjs'
import { installFixtures } from './fixtures.mjs'
import { startProxy } from './proxy.mjs'
import { startLocalServer } from './server.mjs'

const { values } = parseArgs({
  options: {
    part: { type: 'string', multiple: true, default: ['server', 'authorization', 'client'] },
    revision: { type: 'string', multiple: true, default: ['2026-07-28', '2025-11-25'] },
    scenario: { type: 'string' },
    url: { type: 'string' },
    key: { type: 'string' },
    // Not all scenarios of a client, but so many of each revision.
    some: { type: 'string' },
    seed: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
})
const suite = join(root, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')

/** @returns what it printed; its exit code says less than its files. */
function runSuite(args) {
  const { promise, resolve } = Promise.withResolvers()
  const child = spawn(process.execPath, [suite, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const take = (chunk) => (output += chunk)
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  child.once('exit', () => resolve(output))
  return promise
}

/** Scenario → its checks: each has a folder `server-<scenario>-<time>`. */
function readChecks(folder) {
  const scenarios = new Map()
  for (const name of readdirSync(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)?.[1] ?? name
    const checks = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8'))
    scenarios.set(scenario, checks)
  }
  return scenarios
}

async function required(revision) {
  const output = await runSuite(['list', '--server', '--requirements', revision])
  const [, ofServers = ''] = /Server scenarios[^\n]*\n((?:\s+- [^\n]*\n?)*)/.exec(output) ?? []
  return [...ofServers.matchAll(/- ([\w-]+)/g)].map(([, name]) => name)
}

/** Every scenario has this one, whatever the server answers: it proves nothing by itself. */
const isReal = ({ id }) => !id.startsWith('wire-schema')
const count = (checks, status) => checks.filter((check) => check.status === status).length

function judge(scenario, checks, reasons) {
  const [good, bad] = [count(checks.filter(isReal), 'SUCCESS'), count(checks, 'FAILURE')]
  const isPassed = good > 0 && bad === 0
  const reason = reasons[scenario]
  const isWrong = isPassed !== (reason === undefined)
  const wrong = isPassed ? 'passes, but is expected to fail' : 'FAILED'
  const right = isPassed ? 'passed' : 'fails as expected'
  return { scenario, good, bad, isPassed, isWrong, verdict: isWrong ? wrong : right, reason }
}

async function runRevision(revision, url) {
  const folder = mkdtempSync(join(tmpdir(), 'isola-mcp-checks-'))
  try {
    const all = values.scenario ? [values.scenario] : await required(revision)
    const which = values.scenario
      ? ['--scenario', values.scenario, '--spec-version', revision]
      : ['--requirements', revision]
    const output = await runSuite(['server', '--url', `${url}/mcp`, ...which, '-o', folder])
    if (values.verbose) console.log(output)
    const checks = readChecks(folder)
    const rows = all.map((name) => judge(name, checks.get(name) ?? [], expected[revision] ?? {}))
    print(revision, rows, checks)
    return rows
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Scenarios of the extension (SEP-2640) about a server; no revision requires them. */
const skillScenarios = ['directory', 'enumeration', 'manifest'].map(
  (one) => `sep-2640-skills-${one}`,
)

async function runSkills(revision, url) {
  const folder = mkdtempSync(join(tmpdir(), 'isola-mcp-checks-'))
  try {
    for (const scenario of skillScenarios) {
      const which = ['--scenario', scenario, '--spec-version', revision, '--force']
      const output = await runSuite(['server', '--url', `${url}/mcp`, ...which, '-o', folder])
      if (values.verbose) console.log(output)
    }
    const checks = readChecks(folder)
    const rows = skillScenarios.map((name) => judge(name, checks.get(name) ?? [], {}))
    const [good, bad] = ['good', 'bad'].map((key) => rows.reduce((sum, row) => sum + row[key], 0))
    printRows(`MCP skills, ${revision}`, rows, checks)
    const passed = rows.filter(({ isPassed }) => isPassed).length
    console.log(
      `  ${passed} of ${rows.length} scenarios of skills, ${good} of ${good + bad} checks`,
    )
    return rows
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function print(revision, rows, checks) {
  printRows(`MCP ${revision}`, rows, checks)
  const passed = rows.filter(({ isPassed }) => isPassed).length
  console.log(`  ${passed} of ${rows.length} required scenarios of ${revision}`)
}

function printRows(title, rows, checks) {
  console.log(`\n${title}`)
  for (const { scenario, good, bad, verdict, reason, isWrong } of rows) {
    console.log(
      `  ${scenario.padEnd(50)} ${String(good).padStart(3)} ok ${String(bad).padStart(3)} not  ${verdict}`,
    )
    if (reason) console.log(`      ${reason}`)
    if (!isWrong) continue
    for (const { id, status, errorMessage } of checks.get(scenario) ?? [])
      if (status === 'FAILURE') console.log(`      ${id}: ${errorMessage ?? 'failed'}`)
  }
}

/** Rows of the server's scenarios and of its authorization server's. */
async function judgeServer() {
  const server = values.url
    ? { url: values.url, key: values.key ?? '', stop: async () => {} }
    : await startLocalServer()
  try {
    const rows = []
    if (values.part.includes('server')) {
      await installFixtures(server)
      const proxy = await startProxy(server.url, server.key)
      for (const revision of values.revision) {
        rows.push(...(await runRevision(revision, proxy.url)))
        if (!values.scenario) rows.push(...(await runSkills(revision, proxy.url)))
      }
      await proxy.close()
    }
    if (values.part.includes('authorization')) {
      const found = await runAuthorization(server, values)
      printAuthorization(found)
      rows.push(...found.map((row) => ({ ...row, isWrong: !row.isPassed })))
    }
    return rows
  } finally {
    await server.stop()
  }
}

async function judgeClient() {
  const rows = []
  for (const revision of values.revision) {
    const some = values.some === undefined ? undefined : Number(values.some)
    const found = await runClient(revision, { some, seed: Number(values.seed) })
    const isGood = printClient(revision, found)
    rows.push(...found.rows.map((row) => ({ ...row, isWrong: !row.isPassed || !isGood })))
  }
  return rows
}

const isOfServer = values.part.some((part) => part !== 'client')
const rows = [
  ...(isOfServer ? await judgeServer() : []),
  ...(values.part.includes('client') ? await judgeClient() : []),
]
const passed = rows.filter(({ isPassed }) => isPassed).length
console.log(`\n${passed} passed, ${rows.length - passed} failed`)
process.exit(rows.length === 0 || rows.some(({ isWrong }) => isWrong) ? 1 : 0)
