import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { afterAll, describe, expect, it } from 'vitest'
import type { Capabilities, Plugin } from '#features/plugins/types/plugin.ts'
import { main } from '../../../cli/main.ts'
import { buildFolder } from '../../../cli/plugin-build.ts'

const root = join(import.meta.dirname, '../../..')
const text = readFileSync(join(root, 'docs/plugin-authors.md'), 'utf8')
const blocks = [
  ...text.matchAll(/<!-- plugin: (\S+) -->\n```yaml\n([^]*?)```\n```ts\n([^]*?)```/g),
].map(([, id = '', yaml = '', code = '']) => ({ id, yaml, code }))
const tests = [...text.matchAll(/<!-- test: (\S+) -->\n```ts\n([^]*?)```/g)]
const base = mkdtempSync(join(tmpdir(), 'isola-docs-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** A folder as `isola plugin new` makes it, with what the page says in it. */
async function folderOf({ id, yaml, code }: (typeof blocks)[number]): Promise<string> {
  const folder = join(base, id)
  await main(['plugin', 'new', folder], { stdout: { write: () => true } })
  writeFileSync(join(folder, 'plugin.yaml'), yaml)
  writeFileSync(join(folder, 'main.ts'), code)
  const test = tests.find(([, of]) => of === id)?.[2]
  if (test) writeFileSync(join(folder, 'main.test.ts'), test)
  else rmSync(join(folder, 'main.test.ts'))
  mkdirSync(join(folder, 'prompts'))
  writeFileSync(join(folder, 'prompts/agent.md'), 'You sum up.')
  return folder
}

async function registered(folder: string) {
  const { bundle, manifest } = await buildFolder(folder)
  const code = (bundle.code ?? '').replace(
    /from "isola\/plugin"/,
    `from ${JSON.stringify(`file://${join(root, 'src/features/plugins/types/plugin.ts')}`)}`,
  )
  const file = join(folder, 'built.mjs')
  writeFileSync(file, code)
  const module = (await import(/* @vite-ignore */ file)) as { readonly default: Plugin }
  return { manifest, parts: module.default({ id: manifest.id, version: '0.1.0', config: {} }) }
}

const capabilities = {
  fetch: async (url: string) =>
    url.endsWith('/Oslo') ? Response.json({ sky: 'clear' }) : new Response('', { status: 404 }),
  model: { generate: async ({ prompt }: { prompt: string }) => ({ text: `said: ${prompt}` }) },
  progress: () => {},
  request: { elicit: async () => ({ action: 'accept', content: { copies: 2 } }) },
} as unknown as Capabilities

describe('the page for authors', () => {
  it('has a tool in ten lines, an agent in fifteen, a hook, and what there is besides', () => {
    const ids = ['weather', 'summarizer', 'printer-setup', 'no-private', 'handbook']
    expect(blocks.map(({ id }) => id)).toEqual(ids)
    expect(tests).toHaveLength(2)
    // Every block of the page is run.
    expect(text.match(/```(ts|yaml)/g)).toHaveLength(2 * blocks.length + tests.length)
  })

  it('has code that compiles and does what it says', async () => {
    const folders = []
    for (const block of blocks) folders.push(await folderOf(block))
    for (const folder of folders)
      execFileSync(process.execPath, [
        join(root, 'node_modules/typescript/bin/tsc'),
        '--noEmit',
        '-p',
        folder,
      ])
    const [weather, summarizer, printer, noPrivate, handbook] = await Promise.all(
      folders.map(registered),
    )
    const today = weather?.parts.tools?.['today']
    expect(await today?.({ city: 'Oslo' }, capabilities)).toEqual({ sky: 'clear' })
    await expect(today?.({ city: 'Atlantis' }, capabilities)).rejects.toThrow('No weather for')
    const answer = await summarizer?.parts.agent?.invoke({ task: 'a text' }, capabilities)
    expect(answer).toContain('said: Sum up in one sentence: a text')
    const kept = new Map<string, unknown>()
    const storage = {
      get: async (key: string) => kept.get(key),
      set: async (key: string, value: unknown) => void kept.set(key, value),
    }
    const say = (message: string) =>
      printer?.parts.tools?.['say']?.({ message }, { ...capabilities, storage } as never)
    expect(await say('set it up')).toEqual({ say: 'Is it plugged in?' })
    expect(await say('stop')).toMatchObject({ done: true, summary: 'Stopped at step 1.' })
    const veto = noPrivate?.parts.hooks?.['beforeToolCall']
    const event = { on: 'beforeToolCall', session: 's', run: 'r', agent: 'a', principal: 'p' }
    expect(await veto?.({ ...event, input: { key: 'private' } }, capabilities)).toEqual({
      veto: 'That is private.',
    })
    expect(await veto?.({ ...event, input: { key: 'open' } }, capabilities)).toBeUndefined()
    const { tools, resources, prompts } = handbook?.parts ?? {}
    expect(await tools?.['order']?.({}, capabilities)).toMatchObject({ structured: { copies: 2 } })
    const uri = 'handbook://travel'
    expect(await resources?.['chapter']?.({ uri, chapter: 'travel' }, capabilities)).toContain(
      'travel',
    )
    expect(await prompts?.['explain']?.({ chapter: 'travel' }, capabilities)).toContain('travel')
  })
})
