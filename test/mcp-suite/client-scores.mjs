// Runs the official suite against our client: both revisions, exactly the scenarios that each requires. A scenario
// counts only with at least one check that succeeded.
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const suite = join(here, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
const wanted = { '2026-07-28': 32, '2025-11-25': 18 }
const timeoutMs = 60_000

function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [suite, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (output += chunk))
    child.on('close', () => resolve(output))
  })
}

/** More would wait for each other longer than the suite's own limits. */
const atOnce = 2

async function required(revision) {
  const output = await run(['list', '--client', '--requirements', revision])
  const [, ofClients = ''] = /Client scenarios[^\n]*\n((?:\s+- [^\n]*\n?)*)/.exec(output) ?? []
  return [...ofClients.matchAll(/- ([\w/-]+)/g)].map(([, name]) => name)
}

/** Every scenario has the one of the wire's schema, whatever we do: it proves nothing by itself. */
function judge(folder) {
  const [file] = globSync('**/checks.json', { cwd: folder })
  if (file === undefined) return false
  const checks = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const isWrong = checks.some(({ status }) => status === 'FAILURE' || status === 'WARNING')
  return (
    !isWrong &&
    checks.some(({ id, status }) => status === 'SUCCESS' && !id.startsWith('wire-schema'))
  )
}

async function isPassed(scenario, revision) {
  const folder = mkdtempSync(join(tmpdir(), 'isola-mcp-'))
  const command = `"${process.execPath}" "${join(here, 'client.mjs')}"`
  const scope = ['--scenario', scenario, '--spec-version', revision, '--timeout', String(timeoutMs)]
  await run(['client', '--command', command, ...scope, '-o', folder])
  const verdict = judge(folder)
  rmSync(folder, { recursive: true, force: true })
  return verdict
}

/** So many of a list, spread over it and others with each seed; all of them without a number. */
function pick(list, { some, seed }) {
  if (some === undefined) return list
  const step = Math.ceil(list.length / some)
  return list.filter((_, index) => index % step === seed % step).slice(0, some)
}

/**
 * @param options.some Not all of them, but so many by `seed`.
 * @returns a row for each scenario that this revision requires of a client.
 */
export async function runClient(revision, options) {
  const all = await required(revision)
  const left = pick(all, options)
  const rows = []
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift())
      rows.push({ name, isPassed: await isPassed(name, revision) })
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return { rows, isWhole: options.some === undefined, required: all.length }
}

/** Whether none is missing. */
export function printClient(revision, { rows, isWhole, required: all }) {
  const passed = rows.filter((row) => row.isPassed).length
  const failed = rows.filter((row) => !row.isPassed).map(({ name }) => name)
  console.log(`\nMCP client ${revision}`)
  for (const name of failed) console.log(`  ${name} FAILED`)
  if (isWhole) {
    console.log(`  ${passed} of ${wanted[revision]} required scenarios of ${revision}`)
    return passed >= wanted[revision]
  }
  console.log(
    `  ${passed} of ${rows.length} scenarios, of ${all} that are required, of ${revision}`,
  )
  return rows.length > 0 && all === wanted[revision] && passed === rows.length
}
