import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it } from 'vitest'
import { parseManifest } from '../../src/runtime/catalog/types/permit.ts'
import { createSubAgentEntry } from '../../src/features/agents/sub-agent-tool.ts'
import { bundledPlugins } from '../../src/bundled.gen.ts'
import { createOutputStore, createOutputTool } from '../../src/runtime/catalog/output-tool.ts'
import { createSessionGateway } from '../../src/runtime/session/gateway.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'
import { describeTool } from './describe-tool.ts'
import { submitAsTo } from '../fakes/session-gateway.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const long = `${'lorem '.repeat(6_000)}NEEDLE${' ipsum'.repeat(500)}`
const lastText = ({ messages }: UpstreamRequest) => String(messages.at(-1)?.content)
const answered = ({ messages }: UpstreamRequest) =>
  messages.filter(({ role }) => role === 'tool').length
const isOrchestrator = ({ messages }: UpstreamRequest) =>
  String(messages[0]?.content).includes('Available tools')

/** The child's model does what its task says. */
const obedient: UpstreamScript = (request) => {
  switch (lastText(request)) {
    case 'fail':
      return { status: 400 }
    case 'hang':
      return { wait: new Promise<never>(() => {}) }
    case 'long':
      return { text: long }
    default:
      return { text: 'done' }
  }
}

/** The reviewer's tool, as the composition makes it, over the `Session` objects of this Worker. */
function createReviewer() {
  const sessions = createSessionGateway({
    namespace: env.SESSION,
    sha256: systemSources.sha256,
  })
  const bundled = bundledPlugins.find(
    ({ manifest }) => (manifest as { id: string }).id === 'code-reviewer',
  )!
  const manifest = parseManifest(bundled.manifest)
  const entry = createSubAgentEntry({
    manifest,
    agent: manifest.agent!,
    hash: bundled.hash,
    tier: 'builtin',
    sessions,
    submitAs: submitAsTo(sessions),
    clock: systemSources.clock,
  })
  return { sessions, entry }
}

describeTool("a sub-agent's tool, over real Session objects", {
  inputs: {
    succeed: { task: 'succeed' },
    invalid: { context: 'no task' },
    fail: [{ task: 'fail' }],
    hang: { task: 'hang' },
    long: { task: 'long' },
  },
  create: () => {
    const { requests, aborted, restore } = installUpstream(obedient)
    const { sessions, entry } = createReviewer()
    return {
      entry,
      outputs: createOutputStore(sessions),
      readOutput: createOutputTool(sessions),
      executions: () => requests.length,
      stopped: aborted,
      dispose: restore,
    }
  },
})

const newSession = async () => (await callJson('/api/sessions', { json: {} })).id as string
const runTask = async (session: string, task: string) =>
  (await callJson(`/api/sessions/${session}/runs`, { json: { task, wait: true } })).result
const treeOf = (session: string) => callJson(`/api/sessions/${session}`)

describe('a sub-agent', () => {
  it('N13, N1: is a tool that runs another session, of which the caller sees the result only', async () => {
    const { requests } = withModel((request) => {
      if (!isOrchestrator(request)) {
        return answered(request) === 0
          ? { text: 'THINKING ALOUD', calls: [{ name: 'files__list', input: {} }] }
          : { text: 'One finding.' }
      }
      return answered(request) === 0
        ? { calls: [{ name: 'code-reviewer__run', input: { task: 'look' } }] }
        : { text: 'Reviewed.' }
    })
    const session = await newSession()
    expect(await runTask(session, 'review it')).toMatchObject({
      success: true,
      actions: [{ tool: 'code-reviewer__run', ok: true }],
    })
    const seen = requests.filter(isOrchestrator).at(-1)!
    expect(seen.messages.at(-1)).toMatchObject({ role: 'tool', content: 'One finding.' })
    const transcript = JSON.stringify(await callJson(`/api/sessions/${session}/transcript`))
    for (const inside of ['THINKING ALOUD', '"paths"', 'ses_'])
      expect(JSON.stringify(seen.messages) + transcript).not.toContain(inside)
  })

  it('C8: works in a fresh session each call, and usage rolls up with whose it was', async () => {
    const { requests } = withModel((request) => {
      if (!isOrchestrator(request)) return { text: `reviewed ${lastText(request)}` }
      const input = (task: string) => ({ name: 'code-reviewer__run', input: { task } })
      return answered(request) === 0
        ? { calls: [input('first'), input('second')] }
        : { text: 'Both done.' }
    })
    const session = await newSession()
    const result = await runTask(session, 'review both')
    const children = requests.filter((request) => !isOrchestrator(request))
    expect(children.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      ['system', 'user'],
      ['system', 'user'],
    ])
    const tree = await treeOf(session)
    expect(tree.children).toHaveLength(2)
    expect(new Set(tree.children.map(({ id }: Answer) => id)).size).toBe(2)
    for (const child of tree.children)
      expect(child).toMatchObject({ agent: 'code-reviewer', usage: { tokens: 110, turns: 1 } })
    expect(result.usage).toMatchObject({ tokens: 4 * 110, turns: 4, children: 2, toolCalls: 2 })
    expect(tree.usage).toEqual(result.usage)
  })
})

describe('sessions side by side', () => {
  it('N5: share nothing: what one stores the other does not find', async () => {
    const { requests } = withModel((request) => {
      const own = /I am (\w+)/.exec(JSON.stringify(request.messages))?.[1] ?? ''
      switch (answered(request)) {
        case 0:
          return { calls: [{ name: 'kv__list', input: {} }] }
        case 1:
          return { calls: [{ name: 'kv__set', input: { key: own, value: own } }] }
        case 2:
          return { calls: [{ name: 'kv__list', input: {} }] }
        default:
          return { text: `I was ${own}` }
      }
    })
    const names = ['alice', 'bob', 'carol']
    const results = await Promise.all(
      names.map(async (name) => runTask(await newSession(), `I am ${name}`)),
    )
    expect(results.map(({ result }) => result)).toEqual(names.map((name) => `I was ${name}`))
    for (const name of names) {
      const last = requests.findLast(
        (request) => answered(request) === 3 && JSON.stringify(request).includes(`I am ${name}`),
      )
      const lists = last!.messages.flatMap(({ role, content }) =>
        role === 'tool' && String(content).includes('keys') ? [String(content)] : [],
      )
      expect(lists.map((text) => JSON.parse(text) as unknown)).toEqual([
        { keys: [] },
        { keys: [name] },
      ])
    }
  })

  it('N8: an object that was taken from memory answers as if it had stayed', async () => {
    const talk = async (between: () => Promise<unknown>) => {
      const { requests, restore } = installUpstream((_request, index) => ({
        text: `answer ${index}`,
      }))
      const session = await newSession()
      await runTask(session, 'first')
      await between()
      await runTask(session, 'second')
      restore()
      return requests
    }
    const kept = await talk(async () => {})
    const evicted = await talk(() => abortAllDurableObjects())
    expect(evicted).toEqual(kept)
  })
})

describe('values near the size of a row', () => {
  const chat = async (text: string) => {
    withModel(() => ({ text }))
    const session = await newSession()
    const result = await runTask(session, 'at length')
    return { session, result }
  }
  const texts: readonly (readonly [string, string])[] = [
    ['one that fits', 'a'.repeat(800_000)],
    ['one of 2.5 million characters', 'ab'.repeat(1_250_000)],
    ['one in which a character takes three bytes', '漢'.repeat(1_300_000)],
    ['one in which a character takes two units', `x${'😀'.repeat(700_000)}`],
  ]
  it.each(texts)('X6: a turn, %s, is kept whole and read back', async (_what, text) => {
    const { session, result } = await chat(text)
    expect(result).toMatchObject({ state: 'completed' })
    expect(result.result === text).toBe(true)
    await abortAllDurableObjects() // nothing may come from memory
    const transcript = await callJson(`/api/sessions/${session}/transcript`)
    expect(JSON.stringify(transcript).includes(text)).toBe(true)
    const view = await callJson(`/api/sessions/${session}/runs/${result.id}`)
    expect(view.result.result === text).toBe(true)
  })

  it('X6: no row of a session is over two megabytes', async () => {
    const { session } = await chat('漢'.repeat(1_300_000))
    const sizes = await runInDurableObject(stubOf(session), (_instance, { storage }) =>
      storage.sql
        .exec('SELECT length(CAST(body AS BLOB)) AS size FROM log')
        .toArray()
        .map((row) => Number(row['size'])),
    )
    expect(Math.max(...sizes)).toBeGreaterThan(1_000_000)
    expect(Math.max(...sizes)).toBeLessThan(2_000_000)
  })

  it('X6, E3: a result too large to be kept is cut and says so, whatever its characters take', async () => {
    const { requests } = withModel((request) => {
      if (!isOrchestrator(request)) return { text: '漢'.repeat(800_000) }
      return answered(request) === 0
        ? { calls: [{ name: 'code-reviewer__run', input: { task: 'at length' } }] }
        : { text: 'done' }
    })
    expect(await runTask(await newSession(), 'go')).toMatchObject({ state: 'completed' })
    const content = String(requests.at(-1)?.messages.at(-1)?.content)
    expect(content.length).toBeLessThan(24_000)
    expect(content).toContain('not kept')
  })

  it.each([
    ['letters', 'a'.repeat(1_950_000)],
    ['characters of three bytes', '漢'.repeat(900_000)],
  ])(
    'X6: a message over the size of a row is refused and nothing of it kept, %s',
    async (_w, task) => {
      withModel(() => ({ text: 'never' }))
      const session = await newSession()
      const response = await call(`/api/sessions/${session}/runs`, { json: { task, wait: true } })
      expect(response.status).toBe(413)
      expect(((await response.json()) as Answer).error.code).toMatch(/too_large/)
      expect(await readSse(await call(`/api/sessions/${session}/events`))).toEqual([])
    },
  )
})
