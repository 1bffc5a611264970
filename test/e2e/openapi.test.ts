import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openApiText } from '../../scripts/openapi.mjs'
import { freePort, startServer, type RunningServer } from './server.ts'

const state = mkdtempSync(join(tmpdir(), 'isola-openapi-'))
const program = join(import.meta.dirname, 'caller', 'caller.py')
/** CI has Python; on another machine it may be absent, and then this suite is skipped. */
const hasPython = spawnSync('python3', ['--version']).status === 0 || Boolean(process.env['CI'])
let server: RunningServer

beforeAll(async () => {
  server = await startServer({ state, port: await freePort(), env: { ISOLA_MODEL: 'offline' } })
})
afterAll(async () => {
  await server?.stop()
  rmSync(state, { recursive: true, force: true })
})

const session = { id: '$postSessions.id' }
const run = { ...session, run: '$postSessionsByIdRuns.id' }
const steps = [
  { operation: 'postSessions', status: 201, body: { limits: { maxTokens: 100_000 } } },
  { operation: 'postSessionsByIdRuns', parameters: session, body: { task: 'Hi', wait: true } },
  { operation: 'getSessionsByIdRunsByRun', parameters: run },
  { operation: 'getSessionsById', parameters: { ...session, limit: '10' } },
  { operation: 'getSessionsByIdTranscript', parameters: session },
  { operation: 'getSessionsByIdContext', parameters: session },
  { operation: 'getSessionsByIdEvents', parameters: { ...session, follow: 'false' } },
  { operation: 'postOperatorPolicyTest', body: { tool: 'kv__set' } },
  { operation: 'getOperatorPluginsByPlugin', parameters: { plugin: 'kv' } },
  { operation: 'postOperatorKeys', status: 201, body: { principal: 'caller', role: 'user' } },
  { operation: 'postOperatorKeysByKeyRevoke', parameters: { key: '$postOperatorKeys.id' } },
  { operation: 'deleteSessionsById', parameters: session },
  { operation: 'getSessionsById', status: 404, parameters: session },
]

/** The program, which knows nothing but the document. */
function callAll(document: readonly string[] = [], sent: readonly object[] = steps) {
  const { status, stdout, stderr } = spawnSync('python3', [program, server.url, ...document], {
    env: { ...process.env, ISOLA_KEY: server.key },
    input: JSON.stringify(sent),
    encoding: 'utf8',
  })
  return { status, stderr, called: stdout.trim().split('\n') }
}

it('answers a caller that knows nothing but its OpenAPI document, as that says', () => {
  if (!hasPython) return console.warn('python3 is not here: nothing was called.')
  const { status, stderr, called } = callAll()
  expect(stderr).toBe('')
  expect(status).toBe(0)
  expect(new Set(called.map((line) => line.split(' ')[1])).size).toBeGreaterThanOrEqual(25)
})

it('is refused by that caller where it answers something else than the document says', async () => {
  if (!hasPython) return console.warn('python3 is not here: nothing was called.')
  const file = join(state, 'other.json')
  const document = JSON.parse(await openApiText())
  document.components.schemas.Health.properties.status.enum = ['fine']
  writeFileSync(file, JSON.stringify(document))
  const { status, stderr } = callAll([file], [])
  expect([status, stderr]).toEqual([1, expect.stringContaining('/status is "ok", not one of')])
})
