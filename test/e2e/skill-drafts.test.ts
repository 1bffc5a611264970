import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startModelServer } from '../fakes/model-server.mjs'
import { freePort, startServer, type RunningServer } from './server.ts'

const temp = mkdtempSync(join(tmpdir(), 'isola-drafts-'))
const folder = join(temp, 'price-sheet')
let model: Awaited<ReturnType<typeof startModelServer>>
const servers: (RunningServer & { readonly port: number })[] = []

const instructions = `# Price sheet

1. Ask for the currency if the list does not say it, and never guess one.
2. Round each price up to the next five cents, and say so under the sheet.
3. Answer with a table: good, unit, price, and the date of the list.`
const skill = {
  name: 'price-sheet',
  description: 'Makes a price sheet of a list of goods.',
  instructions,
}
const nearly = { ...skill, instructions: instructions.replace('Round each', 'Round every') }
const find = { name: 'isola__find', arguments: { queries: ['make a price sheet of goods'] } }

/** What the model does with a task: writes the skill, writes it nearly so again, or looks for a way and follows it. */
function nextOf(task: string, answers: readonly string[]) {
  const [first] = answers
  if (task.startsWith('write')) {
    if (first !== undefined) return { text: first }
    const written = task === 'write' ? skill : nearly
    return { toolCalls: [{ name: 'isola__emit_skill', arguments: written }] }
  }
  if (first === undefined) return { toolCalls: [find] }
  if (!first.includes('price-sheet')) return { text: 'no way is known' }
  const load = { name: 'isola__load_skill', arguments: { name: 'price-sheet' } }
  return answers[1] === undefined ? { toolCalls: [load] } : { text: answers[1] }
}

beforeAll(async () => {
  model = await startModelServer({
    script: ({ body: { messages } }) => {
      const task = messages.find(({ role }) => role === 'user')
      const answers = messages.filter(({ role }) => role === 'tool')
      return nextOf(
        String(task?.content),
        answers.map(({ content }) => String(content)),
      )
    },
  })
  const env = { ISOLA_MODEL: 'openai/scripted', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk' }
  for (const name of ['one', 'two']) {
    const port = await freePort()
    servers.push({ port, ...(await startServer({ state: join(temp, name), port, env })) })
  }
})
afterAll(async () => {
  for (const server of servers) await server.stop()
  await model?.close()
  rmSync(temp, { recursive: true, force: true })
})

/** A command as an operator of one of them types it. */
const isola = (at: number, ...args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const port = String(servers[at]?.port)
    const env = { ...process.env, ISOLA_URL: '', ISOLA_KEY: undefined, PORT: port }
    execFile(process.execPath, ['scripts/isola.mjs', ...args], { env }, (error, stdout, stderr) =>
      error ? reject(new Error(`isola ${args.join(' ')}: ${stdout}${stderr}`)) : resolve(stdout),
    )
  })

async function chat(at: number, content: string): Promise<string> {
  const { url, key } = servers[at]!
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'orchestrator', messages: [{ role: 'user', content }] }),
  })
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
  return String(choices[0]?.message.content)
}

it('P9, P10: a skill that a model writes twice nearly the same is one draft, promoted, exported, and used in another deployment', async () => {
  const policy = join(temp, 'policy.json')
  writeFileSync(policy, JSON.stringify({ allow_skill_emission: true }))
  expect(await isola(0, 'policy', 'set', policy)).toContain('the orchestrator writes drafts')
  expect(await chat(0, 'write')).toContain('drf_')
  expect(await chat(0, 'write again')).toContain('drf_')
  const listed = await isola(0, 'skill', 'drafts')
  const [draft = ''] = /drf_\w+/.exec(listed) ?? []
  expect(listed.match(/drf_/g)).toHaveLength(1)
  expect(listed).toContain('2 ×')
  expect(await isola(0, 'skill', 'draft', draft)).toContain('| 2. Round every price up')
  expect(await chat(0, 'make a price sheet')).toBe('no way is known')

  expect(await isola(0, 'skill', 'promote', draft, '-y')).toContain('price-sheet is installed.')
  await isola(0, 'skill', 'enable', 'price-sheet')
  expect(await chat(0, 'make a price sheet')).toContain('Round every price up')
  await isola(0, 'skill', 'export', 'price-sheet', folder)

  expect(await isola(1, 'skill', 'validate', folder)).toContain('is valid')
  expect(await chat(1, 'make a price sheet')).toBe('no way is known')
  await isola(1, 'skill', 'add', folder)
  await isola(1, 'skill', 'enable', 'price-sheet')
  expect(await chat(1, 'make a price sheet')).toContain('Round every price up')
})
