import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { addPlugin, changePlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamReply } from '../fakes/upstream.ts'

type Call = NonNullable<UpstreamReply['calls']>[number]
let upstream: ReturnType<typeof installUpstream>
let asked: string[]

/** A model that makes these calls one after another, whatever comes back, and then says what came back. */
function obeys(calls: readonly Call[]): void {
  upstream?.restore()
  asked = []
  upstream = installUpstream(
    ({ messages }) => {
      const task = messages.findLastIndex(({ role }) => role === 'user')
      const answers = messages.slice(task).filter(({ role }) => role === 'tool')
      const next = calls[answers.length]
      return next ? { calls: [next] } : { text: answers.map((one) => one.content).join('\n') }
    },
    ({ url }) => (asked.push(url), new Response(`a page at ${url}`)),
  )
}

const code = (text: string): Call => ({ name: 'code__run', input: { code: text } })
const byName = (name: string, input: object): Call => ({
  name: 'code__run',
  input: { name, input },
})
const find = (...queries: string[]): Call => ({ name: 'isola__find', input: { queries } })
/** What code makes of a call that may be refused. */
const caught = (call: string) =>
  code(`return ${call}.then((value) => ({ value }), (error) => ({ refused: error.message }))`)

const agentOf = (id: string, agent: object = {}) => ({
  manifest: {
    id,
    name: id,
    version: '1.0.0',
    description: 'Works with code.',
    agent: {
      integration_mode: 'tool',
      model: 'openai/scripted',
      instructions: 'p.md',
      uses_tools: ['kv', 'files', 'http'],
      code_mode: true,
      ...agent,
    },
  },
  files: { 'p.md': 'You work.' },
})

const setPolicy = (policy: object) => callJson('/api/operator/policy', { json: { policy } })
const open = { network: { hosts: ['*'] } }

async function begin(calls: readonly Call[], more: object = {}, agent = 'coder'): Promise<Answer> {
  obeys(calls)
  const { id } = await callJson('/api/sessions', { json: { agent } })
  return callJson(`/api/sessions/${id}/runs`, { json: { task: 'go', wait: true, ...more } })
}
const runOf = async (...of: Parameters<typeof begin>): Promise<Answer> =>
  (await begin(...of)).result
const eventsOf = async ({ session }: Answer): Promise<readonly Answer[]> =>
  (await readSse(await call(`/api/sessions/${session}/events`))).map(({ data }) => data as Answer)
const shown = () => upstream.requests[0]!.tools?.map((tool) => tool.function.name)

beforeEach(async () => {
  await changePlugin('code', 'enable')
  await setPolicy(open)
  await addPlugin(agentOf('coder'))
  await enablePlugin('coder')
})
afterEach(async () => {
  upstream?.restore()
  await setPolicy({})
})

describe('an agent in code mode', () => {
  it('P32: is shown a pair of tools, finds signatures and runs code against them', async () => {
    const { result, usage } = await runOf([
      find('store a value', 'list keys'),
      code(
        `for (const key of ['a', 'b', 'c']) await tools.kv.set({ key, value: key.length })
         const { keys } = await tools.kv.list()
         const all = await Promise.all(keys.map((key) => tools['kv'].get({ key })))
         return all.map(({ value }) => value).reduce((a, b) => a + b, 0)`,
      ),
    ])
    expect(shown()).toEqual(['isola__find', 'code__run'])
    expect(result).toMatch(/tools\.kv\.set\(input: \{ key: string/)
    expect(result).toMatch(/\/\*\* Store a JSON value under a key/)
    expect(result).not.toContain('input_schema')
    expect(result).toContain('{"result":3}')
    expect(usage).toMatchObject({ toolCalls: 9, costNanoUsd: 2_000_000 })
  })

  it('makes one call by its name, without code and its price', async () => {
    const { result, usage, actions } = await runOf([byName('kv__set', { key: 'a', value: 1 })])
    expect(result).toBe('{"stored":"a"}')
    expect(usage).toMatchObject({ toolCalls: 1, costNanoUsd: 0 })
    expect(actions).toMatchObject([{ tool: 'kv__set', ok: true }])
  })

  it('P30, Y15: reaches exactly its own tools, in code and by name', async () => {
    const { result } = await runOf([
      caught('tools.memory.note({ text: "a" })'),
      caught('tools.call("memory__note", { text: "a" })'),
      byName('memory__note', { text: 'a' }),
      caught('tools.code.run({ code: "return 1" })'),
      code('return typeof (await tools.kv)'),
    ])
    expect(result.match(/not granted: the tool memory__note/g)).toHaveLength(2)
    expect(result).toContain('There is no tool named \\"memory__note\\" here')
    expect(result).toContain('The tool code__run is already at work above this call')
    expect(result).toContain('{"result":"object"}')
  })

  it('C5: calls its tools one by one where the plugin code is off, and that is said', async () => {
    await changePlugin('code', 'disable')
    // It is no reason to keep an agent from being enabled.
    await addPlugin(agentOf('patient'))
    await enablePlugin('patient')
    await runOf([], {}, 'patient')
    expect(shown()).toContain('kv__set')
    expect(shown()).not.toContain('code__run')
    const told = async () =>
      (await callJson('/api/operator/health')).plugins.filter(
        ({ plugin, code: of }: Answer) => plugin === 'patient' && of === 'code_mode_off',
      )
    expect(await told()).toHaveLength(1)
    await changePlugin('code', 'enable')
    await runOf([], {}, 'patient')
    expect(shown()).toEqual(['isola__find', 'code__run'])
    expect(await told()).toEqual([])
  })
})

const set = 'tools.kv.set({ key: "a", value: 1 })'
const remove = 'tools.files.delete({ path: "a.md" })'
const strict = { ...open, allow_destructive: [] }

describe('P32: a call that is refused outside of code is refused inside, with the same words', () => {
  it.each([
    [
      'a tool that the policy denies',
      { ...open, deny: ['kv__*'] },
      'kv__set',
      set,
      /not allowed|denied/i,
    ],
    [
      'a tool that is not on the allow list of the agent',
      { ...open, agents: { coder: { allow: ['kv__get', 'code__run'] } } },
      'kv__set',
      set,
      /not allowed|denied/i,
    ],
    [
      'a tool that the policy denies the principal',
      { ...open, principals: { operator: { deny: ['kv__set'] } } },
      'kv__set',
      set,
      /not allowed|may not be called/i,
    ],
    [
      'a call too many in a minute',
      { ...open, rates: [{ tools: 'kv__set', per: 'session', calls_per_minute: 0 }] },
      'kv__set',
      set,
      /too often|minute/i,
    ],
    ['input that does not fit', open, 'kv__set', 'tools.kv.set({ key: "" })', /is required/],
  ])('%s', async (_name, policy, tool, text, reason) => {
    await setPolicy(policy)
    const input = tool === 'kv__set' && text !== set ? { key: '' } : { key: 'a', value: 1 }
    const { result } = await runOf([byName(tool, input), caught(text)])
    const [outside, inside] = String(result).split('\n')
    expect(outside).toMatch(reason)
    const { message } = JSON.parse(outside!).error
    expect(JSON.parse(inside!)).toEqual({ result: { refused: `${tool}: ${message}` } })
  })

  it('I27: a destructive call that needs an approval, which by its name waits for it', async () => {
    await setPolicy(strict)
    const write = byName('files__write', { path: 'a.md', text: 'hello' })
    const parked = await begin([write, caught(remove), byName('files__delete', { path: 'a.md' })])
    expect(parked.state).toBe('parked')
    expect(parked.pauses).toMatchObject([{ kind: 'approval', tool: 'files__delete' }])
    const [{ call: waiting }] = parked.pauses
    const at = `/api/sessions/${parked.session}/runs/${parked.id}`
    await callJson(`${at}/decisions`, { json: { call: waiting, decision: 'approve' } })
    const done = await vi.waitFor(async () => {
      const view = await callJson(at)
      expect(view.state).toBe('completed')
      return view
    })
    expect(done.result.result).toMatch(
      /refused.*files__delete: .*one that another tool makes cannot wait/,
    )
    expect(done.result.result).toContain('{"deleted":true}')
  })

  it('I27: a call of which the run wants each approved', async () => {
    const { result } = await runOf([caught(set)], { requireApproval: ['kv__set'] })
    expect(result).toMatch(/refused.*kv__set: This call needs someone to decide/)
  })

  it('C5: a call that the budget does not allow, though code asks for it in a loop', async () => {
    const loop = code(`const said = []
      for (let at = 0; at < 6; at += 1)
        said.push(await tools.kv.get({ key: 'a' }).then(() => 'ok', (error) => error.message))
      return said`)
    const { result, usage } = await runOf([loop], { limits: { maxToolCalls: 4 } })
    expect(usage.toolCalls).toBe(4)
    expect(result.match(/"ok"/g)).toHaveLength(3)
    expect(result.match(/The budget does not allow this call/g)).toHaveLength(3)
  })

  it('C5: as many calls as the agent has are made, and no more', async () => {
    await addPlugin(agentOf('looper', { limits: { max_tool_calls: 80 } }))
    await enablePlugin('looper')
    const loop = code(`let made = 0
      for (let at = 0; at < 100; at += 1)
        made += await tools.kv.get({ key: String(at) }).then(() => 1, () => 0)
      return made`)
    const { result, usage } = await runOf([loop], {}, 'looper')
    expect([result, usage.toolCalls]).toEqual(['{"result":79}', 80])
  })

  it('C5: code itself, where no money is left for its isolate', async () => {
    const { result, usage } = await runOf([code('return 42')], { limits: { maxCostUsd: 0.001 } })
    expect(result).not.toContain('42')
    expect(usage.costNanoUsd).toBe(0)
  })

  it('a tool that has become another since it was found', async () => {
    const says = (version: string) =>
      pluginBundle('sayer', `said by ${version}`, { version, description: 'Says.' })
    await addPlugin(says('1.0.0'))
    await enablePlugin('sayer')
    await addPlugin(agentOf('finder', { uses_tools: ['kv', 'sayer'] }))
    await enablePlugin('finder')
    const say = caught('tools.sayer.say()')
    const parked = await begin(
      [find('says something'), byName('kv__set', { key: 'a', value: 1 }), say, find('say'), say],
      { requireApproval: ['kv__set'] },
      'finder',
    )
    await addPlugin(says('2.0.0'))
    await enablePlugin('sayer')
    await abortAllDurableObjects()
    const at = `/api/sessions/${parked.session}/runs/${parked.id}`
    const [{ call: waiting }] = parked.pauses
    await callJson(`${at}/decisions`, { json: { call: waiting, decision: 'approve' } })
    const done = await vi.waitFor(async () => {
      const view = await callJson(at)
      expect(view.state).toBe('completed')
      return view
    })
    const { result } = done.result
    expect(result).toMatch(/refused.*sayer__say: The tool \\"sayer__say\\" changed/)
    expect(result).toContain('{"result":{"value":"said by 2.0.0"}}')
  })
})

describe('T11: labels inside code', () => {
  const page = 'await tools.http.get({ url: "https://news.example/" })'
  const elsewhere = 'tools.http.get({ url: "https://evil.example/" })'
  const andThen = (call: string) =>
    code(`${page}; return ${call}.then(() => 'made', (error) => error.message)`)

  it('an answer that code has read decides about what it does next', async () => {
    const before = await runOf([code(`return ${elsewhere}.then(() => 'made')`)])
    expect([before.result, asked]).toEqual(['{"result":"made"}', ['https://evil.example/']])
    const { result } = await runOf([andThen(elsewhere)])
    expect(result).toMatch(/http__get: .*stranger.*news\.example/s)
    expect(asked).toEqual(['https://news.example/'])
  })

  it('two calls side by side know of each other what came back before they began', async () => {
    const { result } = await runOf([
      code(`${page}
        const both = await Promise.allSettled([${elsewhere}, tools.kv.set({ key: 'a', value: 1 })])
        return both.map(({ status }) => status)`),
    ])
    expect(result).toBe('{"result":["rejected","fulfilled"]}')
  })

  it('the value that code returns has the label of all that it read, also where it returns none of it', async () => {
    const view = await begin([
      code(`${page}; return 'nothing'`),
      byName('http__get', { url: 'https://evil.example/' }),
    ])
    expect([view.state, asked]).toEqual(['parked', ['https://news.example/']])
    expect(view.pauses[0].about).toMatch(/stranger.*news\.example/)
  })

  it('the label of its conversation holds for the code that comes after it', async () => {
    const { result } = await runOf([
      byName('http__get', { url: 'https://news.example/' }),
      caught(elsewhere),
    ])
    expect(result).toMatch(/refused.*http__get: .*stranger/s)
    expect(asked).toEqual(['https://news.example/'])
  })

  it('C3: an agent that reads narrowly has handles in its code as well, and its results carry no stranger', async () => {
    await setPolicy({ ...open, narrow_reading: ['coder'] })
    const { result } = await runOf([code(`return ${page}`), caught(elsewhere)])
    expect(shown()).toEqual(['isola__find', 'code__run', 'isola__read_values'])
    expect(result).toMatch(/"handle":/)
    expect(result).not.toContain('a page at https://news.example')
    expect(asked).toEqual(['https://news.example/', 'https://evil.example/'])
  })
})

it('O1: each call inside is on the record, under its own name and below the code that made it', async () => {
  const view = await begin([code(`await ${set}; return 1`)])
  const started = (await eventsOf(view)).filter(({ type }) => type === 'tool_started')
  expect(started.map(({ data }) => [data.tool, data.parent])).toEqual([
    ['code__run', undefined],
    ['kv__set', started[0]!.data.call],
  ])
  expect(started[1]!.data).toMatchObject({ plugin: 'kv', tier: 'builtin' })
})

describe('the orchestrator in code mode', () => {
  it('P32: finds and calls what an operator installed, with a prompt that names no tool', async () => {
    await setPolicy({ ...open, code_mode: ['orchestrator'] })
    await addPlugin(pluginBundle('weather', 'sunny'))
    await enablePlugin('weather')
    const { result } = await runOf(
      [find('says something for weather'), code('return tools.weather.say()')],
      {},
      'orchestrator',
    )
    expect(shown()).toEqual(['isola__find', 'code__run', 'isola__load_skill', 'isola__read_output'])
    expect(result).toContain('tools.weather.say(')
    expect(result).toContain('{"result":"sunny"}')
    expect(JSON.stringify(upstream.requests[0]!.messages[0])).toContain(
      'call what it names with code__run',
    )
    const { prompt } = await callJson('/api/operator/policy')
    expect(prompt.tokens).toBeLessThan(1_000)
  })

  it('looks up what code names after a restart, when nothing was found in this life', async () => {
    await setPolicy({ ...open, code_mode: ['orchestrator'] })
    await addPlugin(pluginBundle('climate', 'windy'))
    await enablePlugin('climate')
    await abortAllDurableObjects()
    const { result } = await runOf([code('return tools["climate"].say()')], {}, 'orchestrator')
    expect(result).toBe('{"result":"windy"}')
  })
})
