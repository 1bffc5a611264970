// npm test: everything that CI checks. Uses node builtins only until packages are installed. The checks run beside the
// tests, which wait for something most of their time; after them protections are taken away, other ones with each commit.
// The last line is `N passed, N failed`, counting tests that really ran.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { generateSources, runChecks } from './check.mjs'
import { ensureInstalled, root, runNode, tools } from './toolchain.mjs'

const reportPath = join(root, 'node_modules', '.cache', 'isola', 'vitest.json')

function readReport() {
  try {
    return JSON.parse(readFileSync(reportPath, 'utf8'))
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

async function main() {
  await ensureInstalled()
  await generateSources()
  const checks = runChecks()
  // Whatever becomes of the tests, a fault of the checks is told below.
  checks.catch(() => {})

  rmSync(reportPath, { force: true })
  mkdirSync(join(reportPath, '..'), { recursive: true })
  const { code } = await runNode([
    tools.vitest,
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportPath}`,
    ...process.argv.slice(2),
  ])
  const failed = await checks
  const isWhole = process.argv.length === 2
  if (isWhole && code === 0) failed.push(...(await checkSwitches()))
  const report = readReport()
  if (!report) console.error('vitest left no report')
  for (const file of report?.testResults ?? []) {
    // A file that cannot be loaded has no tests to count; the exit code tells, and this line.
    if (file.status === 'failed' && file.assertionResults.length === 0)
      console.error(`could not run ${file.name}`)
  }
  if (failed.length > 0) console.error(`check failed: ${failed.join(', ')}`)
  console.log(`${report?.numPassedTests ?? 0} passed, ${report?.numFailedTests ?? 0} failed`)
  return code === 0 && report?.success === true && failed.length === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error.message)
  console.log('0 passed, 0 failed')
  process.exitCode = 1
}
