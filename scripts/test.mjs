// npm test: everything that CI checks. Uses node builtins only until packages are installed. Tests wait for something
// much of their time, so two things run at once: on one side what runs in Node and in workerd, after it protections
// are taken away, other ones with each commit; on the other side the checks, after them the tests that start servers.
// The last line is `N passed, N failed`, counting tests that really ran.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { generateSources, runChecks } from './check.mjs'
import { ensureInstalled, root, runNode, tools } from './toolchain.mjs'

const reports = join(root, 'node_modules', '.cache', 'isola', 'reports')

/** Runs vitest with these arguments. @returns whether all is well, and how many tests passed and failed. */
async function runTests(name, args) {
  const path = join(reports, `${name}.json`)
  rmSync(path, { force: true })
  mkdirSync(reports, { recursive: true })
  const { code } = await runNode([
    tools.vitest,
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${path}`,
    ...args,
  ])
  const report = readReport(path)
  if (!report) console.error(`vitest left no report of ${name}`)
  for (const file of report?.testResults ?? []) {
    // A file that cannot be loaded has no tests to count; the exit code tells, and this line.
    if (file.status === 'failed' && file.assertionResults.length === 0)
      console.error(`could not run ${file.name}`)
  }
  return {
    isOk: code === 0 && report?.success === true,
    passed: report?.numPassedTests ?? 0,
    failed: report?.numFailedTests ?? 0,
  }
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Takes eight protections away, one at a time: a test turns red, or nothing holds them up. */
async function checkSwitches() {
  console.log('')
  const options = ['--seeded', '8', '--no-baseline', '--jobs', '2']
  const { code } = await runNode([join(root, 'test', 'switches', 'run.mjs'), ...options])
  return code === 0 ? [] : ['switches']
}

/** Runs the tests of this process and of Workers, and then the switches: these are busy all the time. */
async function runInside() {
  const tests = await runTests('inside', ['--project=unit*', '--project=workers*'])
  return { tests, failed: tests.isOk ? await checkSwitches() : [] }
}

/** The checks, and then the servers, which wait most of their time. */
async function runOutside() {
  const failed = await runChecks()
  return { tests: await runTests('e2e', ['--project=e2e']), failed }
}

/** Some of the tests, as vitest's own arguments name them, beside the checks. */
async function runSome(args) {
  const [tests, failed] = await Promise.all([runTests('some', args), runChecks()])
  return { tests, failed }
}

async function main() {
  await ensureInstalled()
  await generateSources()
  const args = process.argv.slice(2)
  const lanes = await Promise.all(args.length > 0 ? [runSome(args)] : [runInside(), runOutside()])
  const failed = lanes.flatMap((lane) => lane.failed)
  const sum = (name) => lanes.reduce((total, { tests }) => total + tests[name], 0)
  if (failed.length > 0) console.error(`check failed: ${failed.join(', ')}`)
  console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
  return failed.length === 0 && lanes.every(({ tests }) => tests.isOk) ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error.message)
  console.log('0 passed, 0 failed')
  process.exitCode = 1
}
