// npm test: everything that CI checks. Uses node builtins only until packages are installed. The checks run beside the
// tests, which wait for something most of their time.
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
  const failedChecks = await checks
  const report = readReport()
  if (!report) console.error('vitest left no report')
  for (const file of report?.testResults ?? []) {
    // A file that cannot be loaded has no tests to count; the exit code tells, and this line.
    if (file.status === 'failed' && file.assertionResults.length === 0)
      console.error(`could not run ${file.name}`)
  }
  if (failedChecks.length > 0) console.error(`check failed: ${failedChecks.join(', ')}`)
  console.log(`${report?.numPassedTests ?? 0} passed, ${report?.numFailedTests ?? 0} failed`)
  return code === 0 && report?.success === true && failedChecks.length === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error.message)
  console.log('0 passed, 0 failed')
  process.exitCode = 1
}
