import { afterEach, describe, expect, it } from 'vitest'
import { maxPromptTokens } from '../../src/features/agents/wire-orchestrator.ts'
import { defaultPinned } from '../../src/runtime/kernel/types/tool-policy.ts'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import {
  addPlugin,
  changePlugin,
  enablePlugin,
  pluginBundle,
  runOnce,
} from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

const path = '/api/operator/policy'
const setPolicy = (policy: object): Promise<Answer> => callJson(path, { json: { policy } })
let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(async () => {
  upstream?.restore()
  await setPolicy({})
})

/** The model's request before any tool call. */
async function firstRequest() {
  const { requests, restore } = withModel(() => ({ text: 'done' }))
  await runOnce()
  restore()
  const { messages, tools = [] } = requests[0]!
  return {
    system: String(messages[0]?.content),
    names: tools.map((tool) => tool.function.name),
    tools,
  }
}
const install = async (id: string, manifest: object = {}) => {
  await addPlugin(pluginBundle(id, 'said', { ...manifest }))
  await enablePlugin(id)
}
/** A tool whose definition alone takes about this many tokens. */
const long = (tokens: number) => ({
  contributes: { tools: [{ name: 'say', description: 'word '.repeat(tokens).trim() }] },
})

describe('what the orchestrator sees from the start', () => {
  it('E9: is at most 1,500 tokens as it ships, and what the operator is told it is', async () => {
    const { system, names, tools } = await firstRequest()
    expect(names.filter((name) => !name.startsWith('isola__'))).toEqual(
      [...defaultPinned].toSorted(),
    )
    const count = createTokenEstimator()
    const definitions = tools.map(({ function: { name, description, parameters } }: Answer) => ({
      name,
      description,
      inputSchema: parameters,
    }))
    const { prompt } = await callJson(path)
    expect(count.ofText(system) + count.ofTools(definitions)).toBe(prompt.tokens)
    expect(prompt).toMatchObject({ most: maxPromptTokens, left: [] })
    expect(prompt.tokens).toBeLessThanOrEqual(maxPromptTokens)
    expect(prompt.pinned.map(({ name }: Answer) => name)).toEqual(defaultPinned)
    for (const { tokens } of prompt.pinned) expect(tokens).toBeGreaterThan(20)
  })

  it('E9: is the same to the token with more installed', async () => {
    const before = await firstRequest()
    for (const id of ['more-a', 'more-b']) await install(id)
    expect(await firstRequest()).toEqual(before)
  })

  it('Y18: names the agent that ships, though it is found and not seen; an operator who switches it off names none', async () => {
    const { system, names } = await firstRequest()
    expect(names).not.toContain('code-reviewer__run')
    expect(system).toMatch(/## Available agents\n+- code-reviewer__run: Reviews .*isola__find/)
    expect(system).not.toMatch(/price-monitor/)
    await changePlugin('code-reviewer', 'disable')
    expect((await firstRequest()).system).toMatch(/## Available agents\n+\(none\)/)
    await changePlugin('code-reviewer', 'enable')
    expect((await firstRequest()).system).toBe(system)
  })

  it('Y18: names no agent of ours where there is no room, and what is pinned stays', async () => {
    await install('big-e', long(66))
    await setPolicy({ pinned: [...defaultPinned, 'big-e__say'] })
    const { system, names } = await firstRequest()
    expect(names).toEqual(expect.arrayContaining([...defaultPinned, 'big-e__say']))
    expect(system).not.toContain('code-reviewer__run')
  })

  it('is what an operator pins: of an installed plugin, and an agent', async () => {
    await install('pin-me')
    const pinned = ['pin-me__say', 'code-reviewer__run', 'kv__get']
    const { notes } = await setPolicy({ pinned })
    expect(notes).toContain(`+ in the orchestrator's prompt: ${pinned.join(', ')}`)
    const { names, system } = await firstRequest()
    expect(names.filter((name) => !name.startsWith('isola__')).toSorted()).toEqual(
      pinned.toSorted(),
    )
    expect(system).toMatch(/## Available agents\n+- code-reviewer__run: /)

    await changePlugin('pin-me', 'disable')
    expect((await firstRequest()).names).not.toContain('pin-me__say')
    await changePlugin('pin-me', 'enable')
    expect((await firstRequest()).names).toContain('pin-me__say')
  })

  it('is in the order of the list where there is not room for all, and another order is another policy', async () => {
    for (const id of ['long-a', 'long-b']) await install(id, long(30))
    await setPolicy({ pinned: ['long-a__say', 'long-b__say'] })
    const { notes } = await setPolicy({ pinned: ['long-b__say', 'long-a__say'] })
    expect(notes).toHaveLength(2)
    expect((await callJson(path)).prompt.pinned.map(({ name }: Answer) => name)).toEqual([
      'long-b__say',
      'long-a__say',
    ])
  })

  it('has room for 1,500 tokens: a pin beyond that is refused by name, and nothing has changed', async () => {
    for (const id of ['big-a', 'big-b', 'big-d']) await install(id, long(310))
    const answer = await call(path, {
      json: { policy: { pinned: ['big-a__say', 'big-b__say', 'big-d__say'] } },
    })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({
      error: {
        param: 'policy.pinned',
        message: expect.stringMatching(/no room for big-d__say\. Pin less/) as string,
      },
    })
    expect((await callJson(path)).policy.pinned).toEqual(defaultPinned)
  })

  it('leaves out what came later and has no room, and the operator is told', async () => {
    const ids = ['late-a', 'late-b', 'late-c']
    await setPolicy({ pinned: ids.map((id) => `${id}__say`) })
    for (const id of ids) await install(id, long(310))
    expect((await firstRequest()).names).not.toContain('late-c__say')
    expect((await callJson('/api/operator/health')).plugins).toContainEqual({
      plugin: 'orchestrator',
      code: 'prompt_too_long',
      message: expect.stringMatching(/^policy\.pinned: late-c__say found no room/) as string,
    })
  })

  it('of what ships something gives way to what was asked for, and the operator is told', async () => {
    await install('big-c', long(100))
    const { notes } = await setPolicy({ pinned: ['big-c__say', ...defaultPinned] })
    expect(notes).toContain(
      "memory__recall found no room in the orchestrator's prompt; isola__find finds it.",
    )
    expect((await callJson(path)).prompt.left).toEqual(['memory__recall'])
  })

  it.each([
    ['a pattern', ['kv__*']],
    ['a plugin', ['kv']],
    ['more than 24', Array.from({ length: 25 }, (_, n) => `a__t${n}`)],
  ])('is not %s', async (_what, pinned) => {
    const answer = await call(path, { json: { policy: { pinned } } })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('policy.pinned')
  })

  it('names what is not there: it may come, and is said', async () => {
    const { notes } = await setPolicy({ pinned: ['not-here__say'] })
    expect(notes).toContain('not-here__say matches no tool that is here now.')
    await install('not-here')
    expect((await firstRequest()).names).toContain('not-here__say')
  })
})

it('a tool that is not pinned is called by its own name too, once it was found', async () => {
  await install('by-name')
  withModel(({ messages }) => {
    const answer = messages.find(({ role }) => role === 'tool')
    return answer
      ? { text: String(answer.content) }
      : { calls: [{ name: 'by-name__say', input: {} }] }
  })
  expect(await runOnce()).toContain('said')
})
