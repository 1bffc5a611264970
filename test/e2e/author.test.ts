import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startModelServer } from '../fakes/model-server.mjs'
import { freePort, startServer, type RunningServer } from './server.ts'

const temp = mkdtempSync(join(tmpdir(), 'isola-author-'))
const folder = join(temp, 'polite-greeter')
let server: RunningServer
let model: Awaited<ReturnType<typeof startModelServer>>
let port = 0

beforeAll(async () => {
  // It calls the tool by its name, and says what the tool answered.
  model = await startModelServer({
    script: ({ body: { messages } }) => {
      const answer = messages.findLast(({ role }) => role === 'tool')
      if (answer) return { text: `It says: ${String(answer.content)}` }
      const call = { name: 'polite-greeter__greet', input: { name: 'Ada' } }
      return { toolCalls: [{ name: 'isola__call', arguments: call }] }
    },
  })
  port = await freePort()
  server = await startServer({
    state: join(temp, 'state'),
    port,
    env: { ISOLA_MODEL: 'openai/scripted', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk' },
  })
})
afterAll(async () => {
  await server?.stop()
  await model?.close()
  rmSync(temp, { recursive: true, force: true })
})

/** A command as its author types it. */
const isola = (...args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, ISOLA_URL: '', ISOLA_KEY: undefined, PORT: String(port) }
    execFile(process.execPath, ['scripts/isola.mjs', ...args], { env }, (error, stdout, stderr) =>
      error ? reject(new Error(`isola ${args.join(' ')}: ${stdout}${stderr}`)) : resolve(stdout),
    )
  })

async function chat(): Promise<string> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'orchestrator',
      messages: [{ role: 'user', content: 'Greet Ada.' }],
    }),
  })
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
  return String(choices[0]?.message.content)
}

function edit(file: string, from: string, to: string): void {
  const text = readFileSync(join(folder, file), 'utf8')
  expect(text).toContain(from)
  writeFileSync(join(folder, file), text.replace(from, to))
}

it('P1, P12, P19, X2: a new author gets from nothing to a chat that uses the tool, changes it live, and goes back', async () => {
  await isola('plugin', 'new', folder)
  edit('plugin.yaml', 'contributes:', 'grants: { storage: 1mb }\ncontributes:')
  await isola('plugin', 'test', folder)
  expect(await isola('plugin', 'add', folder)).toMatch(/is installed[^]*storage/)
  expect(await chat()).toContain('tool_not_found')
  await isola('plugin', 'grant', 'polite-greeter', '--yes')
  expect(await isola('plugin', 'enable', 'polite-greeter')).toContain('is enabled')
  expect(await chat()).toContain('Hello, Ada!')

  edit('main.ts', 'Hello, ', 'Good day, ')
  edit('plugin.yaml', '0.1.0', '0.2.0')
  const before = performance.now()
  expect(await isola('plugin', 'add', folder)).toContain('0.2.0 (community) is enabled')
  const added = performance.now()
  expect(await chat()).toContain('Good day, Ada!')
  const used = performance.now()
  console.log(
    `add of a new version to its first use: ${Math.round(used - before)} ms (isola plugin add ${Math.round(added - before)}, the chat ${Math.round(used - added)})`,
  )

  expect(await isola('plugin', 'rollback', 'polite-greeter')).toContain('0.1.0 is enabled')
  expect(await chat()).toContain('Hello, Ada!')
  expect(await isola('plugin', 'doctor')).toContain('Every plugin is well.')
}, 300_000)
