// node test/mcp-suite/authorization.mjs --url http://127.0.0.1:8787 --key isk_… [--verbose]
//
// The official suite for authorization servers against a running server. The suite waits for a person with a browser:
// this script plays that person. A scenario counts as passed only with a check that succeeded, and none that failed.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { pathToFileURL } from 'node:url'
import { root } from '../../scripts/toolchain.mjs'
import { freePort } from './server.mjs'

const suite = join(root, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
const patienceMs = 60_000

/** Registers a client as any program would. */
async function register(url, redirectUri) {
  const response = await fetch(`${url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'MCP conformance',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    }),
  })
  if (!response.ok) throw new Error(`registration: ${response.status} ${await response.text()}`)
  return (await response.json()).client_id
}

/** Opens the consent page, types the key and allows what is asked for. @returns where the browser is sent then. */
export async function consent(authorizeUrl, key) {
  const page = await fetch(authorizeUrl, { redirect: 'manual' })
  const html = await page.text()
  const handle = /name="handle" value="([^"]+)"/.exec(html)?.[1]
  if (!handle) throw new Error(`no consent page: ${page.status} ${html.slice(0, 500)}`)
  const body = new URLSearchParams({ handle, key, decision: 'key' })
  for (const [, scope] of html.matchAll(/name="scope" value="([^"]+)"/g))
    body.append('scope', scope)
  const cookie = page.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
  const headers = { cookie, origin: new URL(authorizeUrl).origin }
  const answer = await fetch(authorizeUrl, { method: 'POST', body, headers, redirect: 'manual' })
  const location = answer.headers.get('location')
  if (!location) throw new Error(`not allowed: ${answer.status} ${await answer.text()}`)
  return location
}

/** @returns what the suite printed; whenever it names an address to open, that is done. */
function runSuite(args, url, key) {
  const { promise, resolve, reject } = Promise.withResolvers()
  const child = spawn(process.execPath, [suite, 'authorization', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const opened = new Set()
  const take = (chunk) => {
    output += chunk
    for (const [found] of output.matchAll(/^https?:\S+(?=\n)/gm)) {
      if (!found.startsWith(`${url}/authorize?`) || opened.has(found)) continue
      opened.add(found)
      consent(found, key)
        .then((location) => fetch(location))
        .catch((error) => {
          child.kill()
          reject(error)
        })
    }
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const timer = setTimeout(() => child.kill(), patienceMs)
  child.once('exit', () => {
    clearTimeout(timer)
    resolve(output)
  })
  return promise
}

/**
 * @param server Its URL, and a key that may sign in.
 * @returns A row for each scenario: its name, how many checks succeeded and failed, and whether that is a pass.
 */
export async function runAuthorization({ url, key }, { verbose = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'isola-mcp-authorization-'))
  try {
    const port = await freePort()
    const client = await register(url, `http://127.0.0.1:${port}/callback`)
    const about = ['--url', url, '--client-id', client, '--resource', `${url}/mcp`]
    const output = await runSuite([...about, '-p', String(port), '-o', folder], url, key)
    if (verbose) console.log(output)
    return readdirSync(folder).map((name) => {
      const checks = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8'))
      const count = (status) => checks.filter((check) => check.status === status).length
      const [good, bad] = [count('SUCCESS'), count('FAILURE')]
      const scenario = name.replace(/^authorization-server-|-\d{4}-\d\d-\d\dT.*$/g, '')
      const failures = checks.filter(({ status }) => status === 'FAILURE')
      return { scenario, good, bad, isPassed: good > 0 && bad === 0, failures }
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function printAuthorization(rows) {
  console.log('\nMCP authorization server')
  for (const { scenario, good, bad, isPassed, failures } of rows) {
    const verdict = isPassed ? 'passed' : 'FAILED'
    console.log(`  ${scenario.padEnd(50)} ${good} ok ${bad} not  ${verdict}`)
    for (const { id, errorMessage } of failures) console.log(`      ${id}: ${errorMessage}`)
  }
  const passed = rows.filter(({ isPassed }) => isPassed).length
  const sum = (count) => rows.reduce((total, row) => total + count(row), 0)
  const [good, all] = [sum((row) => row.good), sum((row) => row.good + row.bad)]
  console.log(`  ${passed} of ${rows.length} scenarios, ${good} of ${all} checks`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:8787' },
      key: { type: 'string' },
      verbose: { type: 'boolean', default: false },
    },
  })
  const rows = await runAuthorization({ url: values.url, key: values.key ?? '' }, values)
  printAuthorization(rows)
  process.exitCode = rows.length > 0 && rows.every(({ isPassed }) => isPassed) ? 0 : 1
}
