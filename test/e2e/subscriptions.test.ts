import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { startModelServer } from '../fakes/model-server.mjs'
import { freePort, startServer, type RunningServer } from './server.ts'

const temp = mkdtempSync(join(tmpdir(), 'isola-subscriptions-'))
const state = join(temp, 'state')
let model: Awaited<ReturnType<typeof startModelServer>>
let server: RunningServer
let port: number
let env: Record<string, string>

/** Writes a plugin's folder. */
function folderOf(id: string, files: Readonly<Record<string, string>>): string {
  const folder = join(temp, id)
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}
const shop = () =>
  folderOf('shop', {
    'plugin.yaml': `id: shop
name: Shop
version: 1.0.0
description: Sells things.
entrypoint: main.js
contributes:
  tools:
    - name: sell
      description: Sell a thing for an amount.
      input_schema: { type: object, properties: { amount: { type: number } }, required: [amount], additionalProperties: false }
  events:
    - name: paid
      schema: { type: object, properties: { amount: { type: number } }, required: [amount], additionalProperties: false }
`,
    'main.js': `export default () => ({
  tools: { async sell({ amount }, { emit }) { await emit('paid', { amount }); return 'sold' } },
})
`,
  })
const books = () =>
  folderOf('books', {
    'plugin.yaml': `id: books
name: Books
version: 1.0.0
description: Keeps the books.
agent:
  integration_mode: tool
  model: default
  instructions: prompt.md
  subscribes:
    - { event: shop.paid, task: Write it into the books. }
`,
    'prompt.md': 'You keep the books.',
  })

beforeAll(async () => {
  model = await startModelServer({
    script: ({ body: { messages } }) => {
      const said = messages.map(({ content }) => String(content))
      if (said.some((text) => text === 'Write it into the books.')) return { text: 'booked' }
      if (said.some((text) => text === 'Tell me.')) return { text: 'told' }
      if (messages.at(-1)?.role === 'tool') return { text: 'sold' }
      const call = { name: 'shop__sell', input: { amount: 5 } }
      return { toolCalls: [{ name: 'isola__call', arguments: call }] }
    },
  })
  env = { ISOLA_MODEL: 'openai/scripted', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk' }
  port = await freePort()
  server = await startServer({ state, port, env })
})
afterAll(async () => {
  await server?.stop()
  await model?.close()
  rmSync(temp, { recursive: true, force: true })
})

const isola = (...args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const own = { ...process.env, ISOLA_URL: '', ISOLA_KEY: undefined, PORT: String(port) }
    execFile(
      process.execPath,
      ['scripts/isola.mjs', ...args],
      { env: own },
      (error, stdout, stderr) =>
        error ? reject(new Error(`isola ${args.join(' ')}: ${stdout}${stderr}`)) : resolve(stdout),
    )
  })

/** Every firing of a subscription has ended, and there are so many. */
const fired = (id: string, count: number) =>
  vi.waitFor(
    async () => {
      const { firings } = JSON.parse(await isola('subscription', 'history', id, '--json'))
      expect(firings).toHaveLength(count)
      expect(firings.every((one: { state: string }) => one.state === 'done')).toBe(true)
      return firings
    },
    { timeout: 120_000, interval: 500 },
  )

async function chat(content: string): Promise<string> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'orchestrator', messages: [{ role: 'user', content }] }),
  })
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
  return String(choices[0]?.message.content)
}

it('Y10: Y28: what a plugin emits runs an agent of another and one of a person, once each, also over a power cut', async () => {
  for (const folder of [shop(), books()]) await isola('plugin', 'add', folder)
  expect(await isola('plugin', 'show', 'books')).toContain('is run by the event shop.paid')
  for (const id of ['shop', 'books']) {
    await isola('plugin', 'grant', id, '--yes')
    await isola('plugin', 'enable', id)
  }
  const add = ['subscription', 'add', 'shop.paid', 'Tell me.', '--where', 'amount=5'] as const
  expect(await isola(...add, '--dry-run')).toContain('Would be made')
  const [own = ''] = /sub_\w+/.exec(await isola(...add)) ?? []
  const none = await isola('subscription', 'add', 'shop.paid', 'Tell me.', '--where', 'amount=6')
  const listed = await isola('subscription', 'list')
  const [ofBooks = ''] = /sub_\w+(?=.*plugin:books)/.exec(listed) ?? []
  expect(listed.match(/sub_/g)).toHaveLength(3)

  expect(await chat('Sell one.')).toBe('sold')
  expect(await fired(own, 1)).toMatchObject([{ text: 'told', depth: 1 }])
  expect(await fired(ofBooks, 1)).toMatchObject([{ text: 'booked' }])

  expect(await chat('Sell one.')).toBe('sold')
  await server.kill()
  server = await startServer({ state, port, env })
  expect(await fired(own, 2)).toHaveLength(2)
  const firings = await fired(ofBooks, 2)
  const [runs] = [new Set(firings.map(({ run }: { run: string }) => run))]
  expect(runs.size).toBe(2)
  expect(await isola('subscription', 'history', /sub_\w+/.exec(none)?.[0] ?? '')).toContain(
    'Nothing yet',
  )

  await isola('plugin', 'disable', 'books')
  expect((await isola('subscription', 'list')).match(/sub_/g)).toHaveLength(2)
  expect(await isola('subscription', 'pause', own)).toContain('paused')
  expect(await isola('subscription', 'remove', own, '--yes')).toContain('is removed')
})

it('Y10: a developer sees a webhook arrive on this machine', async () => {
  const got: unknown[] = []
  const hook = createServer((request, response) => {
    void text(request).then((body) => {
      got.push(JSON.parse(body))
      response.end()
    })
  })
  const hookPort = await freePort()
  await new Promise<void>((resolve) => hook.listen(hookPort, '127.0.0.1', resolve))
  try {
    await isola('http', 'allow', `127.0.0.1:${hookPort}`)
    const make = (url: string) =>
      fetch(`${server.url}/api/schedules`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          task: 'Tell me.',
          when: { cron: '0 9 1 1 *' },
          deliver: { to: 'webhook', url },
        }),
      })
    expect((await make('https://user:pass@example.com/x')).status).toBe(400)
    const made = (await (await make(`http://127.0.0.1:${hookPort}/hook`)).json()) as { id: string }
    await isola('schedule', 'run', made.id)
    await vi.waitFor(() => expect(got).toMatchObject([{ schedule: made.id, text: 'told' }]), {
      timeout: 60_000,
      interval: 200,
    })
  } finally {
    hook.close()
  }
}, 120_000)
