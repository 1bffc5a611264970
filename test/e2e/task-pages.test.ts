import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, startServer, type RunningServer } from './server.ts'

const run = promisify(execFile)
const folder = 'docs/tasks'
const pages = readdirSync(folder)

/** What the first example of a page prints, besides ending with 0. */
const printed: Readonly<Record<string, RegExp>> = {
  'add-an-mcp-server.md': /docs/,
  'approve-a-call.md': /kv__set/,
  'deploy.md': /isola-acme/,
  'erase-a-person.md': /erased_/,
  'give-a-key.md': /alice/,
  'install-a-plugin.md': /Ada/,
  'schedule-something.md': /Morning/,
  'see-the-cost.md': /total/,
  'start-and-chat.md': /offline model/,
  'write-an-agent.md': /offline model/,
}

describe('the first example of a task page', () => {
  let server: RunningServer
  const state = mkdtempSync(join(tmpdir(), 'isola-tasks-'))

  beforeAll(async () => {
    server = await startServer({ state, port: await freePort() })
  })
  afterAll(async () => {
    await server?.stop()
    rmSync(state, { recursive: true, force: true })
  })

  it.each(pages)('of %s runs as it is written', async (page) => {
    const text = readFileSync(join(folder, page), 'utf8')
    const example = /```sh\n([^]*?)```/.exec(text)?.[1] ?? ''
    const script = [
      'set -euo pipefail',
      'npx() { shift; node scripts/isola.mjs "$@"; }',
      'npm() { shift 3; node scripts/isola.mjs "$@"; }',
      example.replaceAll('/tmp/', `${state}/`),
    ]
    const { stdout, stderr } = await run('bash', ['-c', script.join('\n')], {
      env: { ...process.env, ISOLA_URL: server.url, ISOLA_KEY: server.key },
    })
    expect(stdout + stderr).toMatch(printed[page] ?? /^nothing is known of this page$/)
  })

  it('is short', () => {
    for (const page of pages) {
      const words = readFileSync(join(folder, page), 'utf8').split(/\s+/).filter(Boolean)
      expect(words.length, page).toBeLessThanOrEqual(250)
    }
  })
})
