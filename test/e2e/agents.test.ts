import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Answer } from '../fakes/client.ts'
import { startModelServer } from '../fakes/model-server.mjs'
import { freePort, startServer, type RunningServer } from './server.ts'

const temp = mkdtempSync(join(tmpdir(), 'isola-agents-'))
const folder = join(temp, 'release-notes')
let model: Awaited<ReturnType<typeof startModelServer>>
let server: RunningServer & { readonly port: number }
const keys: Record<string, string> = {}

const yaml = (uses: string) => `id: release-notes
name: Release notes
description: Writes release notes from a list of changes.
agent:
  instructions: prompt.md
  uses_tools: [${uses}]
acl:
  principals: { anna: [run] }
`
const write = (prompt: string, uses = 'kv__get') => {
  writeFileSync(join(folder, 'agent.yaml'), yaml(uses))
  writeFileSync(join(folder, 'prompt.md'), prompt)
}

beforeAll(async () => {
  mkdirSync(folder)
  model = await startModelServer({
    script: ({ body: { messages, tools = [] } }) => {
      const said = messages.map(({ content }) => String(content))
      const answers = messages.filter(({ role }) => role === 'tool')
      const names = tools.map((tool) => tool.function.name).join(' ')
      // An agent of ours says its instructions and tools; the orchestrator looks for one and calls it.
      if (!said[0]?.startsWith('You are the orchestrator'))
        return { text: `${said[0]?.split('\n')[0]} [${names}]` }
      if (answers.length === 0)
        return {
          toolCalls: [{ name: 'isola__find', arguments: { queries: ['write release notes'] } }],
        }
      const input = { task: 'notes, please' }
      if (answers.length === 1)
        return {
          toolCalls: [{ name: 'isola__call', arguments: { name: 'release-notes__run', input } }],
        }
      return { text: answers.map(({ content }) => String(content)).join('\n') }
    },
  })
  const env = { ISOLA_MODEL: 'openai/scripted', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk' }
  const port = await freePort()
  server = { port, ...(await startServer({ state: join(temp, 'state'), port, env })) }
  keys['operator'] = server.key
  for (const [principal, role] of [
    ['anna', 'user'],
    ['ben', 'user'],
    ['carl', 'author'],
  ] as const) {
    const made = await api('operator', 'POST /api/operator/keys', { principal, role })
    keys[principal] = made['key']
  }
})
afterAll(async () => {
  await server?.stop()
  await model?.close()
  rmSync(temp, { recursive: true, force: true })
})

/** A command as an operator types it. */
const isola = (...args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, ISOLA_URL: '', ISOLA_KEY: undefined, PORT: String(server.port) }
    execFile(process.execPath, ['scripts/isola.mjs', ...args], { env }, (error, stdout, stderr) =>
      error ? reject(new Error(`isola ${args.join(' ')}: ${stdout}${stderr}`)) : resolve(stdout),
    )
  })

/** The model server of this test takes any name for a model, so that an agent is asked for by a session. */
const absent = /no such agent/
/** The answer to a caller who may see the agent. */
const waiting = /waits for an operator: isola agent show/
const aside = /is put aside/

async function api(who: string, route: string, body?: object): Promise<Answer> {
  const [method = 'GET', path = ''] = route.split(' ')
  const headers = { authorization: `Bearer ${keys[who]}`, 'content-type': 'application/json' }
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = (await response.json()) as object
  return { ...answer, status: response.status }
}

async function say(who: string, agent: string): Promise<string> {
  const opened = await api(who, 'POST /api/sessions', { agent })
  if (opened.status === 404) throw new Error(opened.error.message)
  const client = new OpenAI({ apiKey: keys[who]!, baseURL: `${server.url}/v1`, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'go' }]
  const made = await client.chat.completions.create({ model: agent, messages })
  return made.choices[0]?.message.content ?? ''
}

it('I8: a persistent agent is made, run, changed, compared, rolled back, put aside and deleted', async () => {
  write('You write notes, first.')
  expect(await isola('agent', 'add', folder, '--dry-run')).toContain('Would be made')
  expect(await isola('agent', 'add', folder)).toContain('version 1 (in force)')
  expect(await say('operator', 'release-notes')).toBe('You write notes, first. [kv__get]')
  write('You write notes, second.')
  expect(await isola('agent', 'add', folder)).toContain('version 2 (in force)')
  expect(await isola('agent', 'add', folder)).toContain('has this text already')
  expect(await isola('agent', 'diff', 'release-notes')).toContain(
    '- agent.instructions: You write notes, first.\n+ agent.instructions: You write notes, second.',
  )
  expect(await isola('agent', 'run', 'release-notes', 'go')).toContain('second.')
  expect(await isola('agent', 'rollback', 'release-notes', '1')).toContain('version 1, active')
  expect(await say('operator', 'release-notes')).toContain('first.')
})

it('I8: an agent is found and called by the orchestrator of a principal who may run it, and by no other', async () => {
  expect(await say('anna', 'orchestrator')).toContain('You write notes, first.')
  const bens = await say('ben', 'orchestrator')
  expect(bens).not.toContain('You write notes')
  expect(bens).toContain('There is no tool named \\"release-notes__run\\" here.')
})

it('I8: a principal without a right to an agent is answered as if there were none', async () => {
  expect(await say('anna', 'release-notes')).toContain('first.')
  await expect(say('ben', 'release-notes')).rejects.toThrow(absent)
  await expect(say('ben', 'nobody-has-this')).rejects.toThrow(absent)
  const seen = await api('ben', 'GET /api/agents/release-notes')
  const none = await api('ben', 'GET /api/agents/nobody-has-this')
  expect([seen.status, seen.error.message]).toEqual([404, none.error.message])
  expect((await api('ben', 'GET /api/agents')).agents).toEqual([])
  // She may run it and not change it.
  expect((await api('anna', 'POST /api/agents/release-notes/archive', {})).status).toBe(403)
})

it('I8, I27: an agent that destroys, goes out, takes longer or is shared waits for an operator', async () => {
  const definition = {
    id: 'fetcher',
    name: 'Fetcher',
    description: 'Fetches a page.',
    agent: {
      instructions: 'You fetch.',
      uses_tools: ['http__get', 'kv__get'],
      limits: { max_turns: 40 },
    },
    acl: { roles: { user: ['run'] } },
  }
  const made = await api('carl', 'POST /api/agents', definition)
  expect(made['applied']).toMatchObject({
    state: 'waiting',
    needs: ['limit max_turns 40', 'share role user: run', 'tool http__get'],
  })
  await expect(say('carl', 'fetcher')).rejects.toThrow(waiting)
  const { version, hash } = made['applied']
  expect((await api('carl', 'POST /api/agents/fetcher/approve', { version, hash })).status).toBe(
    403,
  )
  await isola('agent', 'approve', 'fetcher', '--yes')
  expect(await say('ben', 'fetcher')).toContain('[http__get kv__get]')
})

it('I8: an agent whose owner has no key any more runs for no caller', async () => {
  const listed = await api('operator', 'GET /api/operator/keys?principal=carl')
  const [{ id }] = listed['keys']
  await api('operator', `POST /api/operator/keys/${id}/revoke`, {})
  await expect
    .poll(() => say('ben', 'fetcher').catch((error: Error) => error.message), { timeout: 10_000 })
    .toMatch(absent)
})

it('I7: an agent on demand works, has nothing that goes out, and is gone afterwards', async () => {
  const agent = { instructions: 'You are here once.', uses_tools: ['kv__get'] }
  const done = await api('ben', 'POST /api/agents/on-demand', { agent, task: 'go', tempId: 'mine' })
  expect(done).toMatchObject({ status: 200, state: 'completed', tempId: 'mine' })
  expect(done['result']).toBe('You are here once. [kv__get]')
  expect((await api('ben', `GET /api/sessions/${done['session']}`)).status).toBe(404)
  await expect(say('ben', 'on-demand')).rejects.toThrow(absent)
  expect((await api('ben', 'GET /api/agents/mine')).status).toBe(404)
  const out = { agent: { ...agent, uses_tools: ['http'] }, task: 'go' }
  const refused = await api('ben', 'POST /api/agents/on-demand', out)
  expect([refused.status, refused.error.message]).toEqual([
    403,
    expect.stringContaining('one on demand may not have tool http__'),
  ])
})

it('I9, I10: an agent that works in the background is proposed to be kept, reviewed and approved', async () => {
  const agent = { instructions: 'You are to stay.' }
  const body = { agent, task: 'go', background: true, ttlSeconds: 600 }
  const { session, run } = await api('ben', 'POST /api/agents/on-demand', body)
  const path = `GET /api/sessions/${session}/runs/${run}`
  await expect.poll(async () => (await api('ben', path))['state']).toBe('completed')
  const about = { id: 'stayer', name: 'Stayer', description: 'Stays.' }
  const of = { session, run, ...about }
  expect((await api('anna', 'POST /api/agents/promote', of)).status).toBe(404)
  const proposed = await api('ben', 'POST /api/agents/promote', of)
  expect(proposed).toMatchObject({ status: 201, state: 'waiting', applied: { from: session } })
  await expect(say('ben', 'stayer')).rejects.toThrow(waiting)
  await isola('agent', 'approve', 'stayer', '--yes')
  expect(await say('ben', 'stayer')).toContain('You are to stay.')
})

it('I8: an archived agent runs for no caller, a deleted one is gone, and the record stays', async () => {
  expect(await isola('agent', 'archive', 'release-notes')).toContain('archived')
  await expect(say('operator', 'release-notes')).rejects.toThrow(aside)
  await isola('agent', 'restore', 'release-notes')
  expect(await say('operator', 'release-notes')).toContain('first.')
  expect(await isola('agent', 'delete', 'release-notes', '--yes')).toContain('is gone')
  await expect(say('operator', 'release-notes')).rejects.toThrow(absent)
  // The id stays its owner's.
  const other = { id: 'release-notes', name: 'X', description: 'X', agent: { instructions: 'X' } }
  expect((await api('ben', 'POST /api/agents', other)).status).toBe(409)
  const told = await isola('audit', 'list', '--session', 'deployment', '--tail', '100')
  for (const type of [
    'agent_added',
    'agent_changed',
    'agent_rolled_back',
    'agent_approved',
    'agent_begun_on_demand',
    'agent_archived',
    'agent_restored',
    'agent_deleted',
  ])
    expect(told).toContain(type)
})
