import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { JsonObject } from '#contracts/json.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { zeroUsage, type Limits } from '#contracts/lease.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { ToolEntry, ToolResult } from '#contracts/tool.ts'
import { createSchemaValidator } from '../../../../src/runtime/catalog/schema-validator.ts'
import { loadPlugins } from '../../../../src/features/plugins/loading/in-process-host.ts'
import { connectedTools } from '../../../fakes/connected.ts'
import {
  agentSpec,
  createEndingKernel,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  openGates,
  runInput,
  runPorts,
  toolEntry,
  toolsetOf,
  type Line,
} from '../../../fakes/kernel.ts'
import { bundle, loadOne } from '../../../fakes/plugins.ts'
import registerCaller from '../../../fixtures/plugins/caller/main.ts'
import registerConformance from '../../../fixtures/plugins/conformance/main.ts'

const folder = join(import.meta.dirname, '../../../fixtures/plugins')

function bundleFixture(name: string, more: Partial<BundledPlugin>): BundledPlugin {
  const manifest = parse(readFileSync(join(folder, name, 'plugin.yaml'), 'utf8')) as unknown
  return { manifest, files: {}, hash: name.padEnd(64, '0'), ...more }
}

/** An agent that our kernel runs, as the directory sees it: a tool that spends. */
const worker = (usage = { ...zeroUsage, tokens: 70, turns: 2, modelCalls: 2 }) =>
  toolEntry('worker__run', async () => ({ ok: true, output: 'found', usage }), {
    spends: defaultAgentLimits,
  })

function setUp(child: ToolEntry = worker()) {
  const { plugins, problems } = loadPlugins(
    [
      bundleFixture('conformance', { register: registerConformance }),
      bundleFixture('caller', { register: registerCaller }),
    ],
    { validator: createSchemaValidator() },
  )
  expect(problems).toEqual([])
  const agent = { integration_mode: 'tool', model: 'm', instructions: 'p.md' }
  const plugin = loadOne(bundle({ id: 'worker', agent }))
  return connectedTools(plugins, {}, [{ plugin, entries: [child] }])
}

interface Options {
  readonly lines?: readonly Line[]
  readonly limits?: Partial<Limits>
  readonly child?: ToolEntry
  /** The model that the deployment chooses for fake/other. */
  readonly other?: string
}

/** One call of one tool by a run; `lines` is what the model says to the plugin's code in between. */
async function call(
  tool: string,
  input: JsonObject,
  { lines = [], limits, child, other = 'other' }: Options = {},
) {
  const models = createFakeModel([{ calls: [{ name: tool, input }] }, ...lines, { text: 'done' }])
  const journal = createMemoryJournal()
  const validator = createSchemaValidator()
  const parts = createKernelParts(
    {
      ...models,
      select: (model = 'fake') => ({
        provider: 'fake',
        model: model === 'fake/other' ? other : 'fake',
        substituted: false,
      }),
    },
    { gates: { ...openGates, validator } },
  )
  const { usage } = await createEndingKernel(parts).run(
    runInput({ agent: agentSpec(limits), toolset: toolsetOf([setUp(child)(tool)]) }),
    runPorts({ journal }),
  )
  const turns = journal.load()
  const events = turns.flatMap((turn) => turn.events)
  const [{ outcome } = {}] = turns.flatMap(({ calls }) => calls)
  const answer = outcome?.ok ? outcome.output : outcome?.error.message
  return {
    answer,
    outcome,
    usage,
    models,
    events,
    told: (type: string) => events.flatMap((event) => (event.type === type ? [event.data] : [])),
  }
}

const reach = (tool: string, input: JsonObject = {}, options?: Options) =>
  call('caller__reach', { tool, input }, options)

describe('Y15: tools.call', () => {
  it('answers what a listed tool says', async () => {
    const { answer } = await reach('conformance__act', { how: 'succeed' })
    expect(answer).toEqual({ answer: { did: 'succeed' } })
  })

  it.each([
    'kv__set',
    'caller__ask',
    'conformance__other',
    'isola__call',
    'isola__read_output',
    '',
  ])('T8: %j is not in uses_tools: refused, on the record, and not run', async (tool) => {
    const { answer, told, usage } = await reach(tool)
    expect(answer).toEqual({
      refused: `not granted: the tool ${tool} (there is none of this name here; a plugin's code has those of its uses_tools in plugin.yaml that are enabled)`,
    })
    expect(told('capability_refused')).toMatchObject([{ capability: 'tools', tool }])
    expect(told('tool_started')).toHaveLength(1)
    expect(usage.toolCalls).toBe(1)
  })

  it('N10: input that does not fit the schema is refused, with the place', async () => {
    const { answer } = await reach('conformance__act', { how: 'sing' })
    expect(answer).toEqual({ refused: expect.stringMatching(/^conformance__act: "how" /) })
  })

  it("a tool's failure is an error with its own text, and no more", async () => {
    const failed = await reach('conformance__act', { how: 'fail' })
    expect(failed.answer).toEqual({ refused: 'conformance__act: It was told to fail.' })
    const crashed = await reach('conformance__act', { how: 'crash' })
    expect(crashed.answer).toEqual({
      refused: 'conformance__act: The tool conformance__act failed.',
    })
  })

  it("E1: a sub-agent's spending is the caller's, to the last token", async () => {
    const { answer, usage, outcome } = await reach('worker__run', { task: 'look' })
    expect(answer).toEqual({ answer: 'found' })
    expect((outcome as ToolResult).usage).toMatchObject({ tokens: 70, toolCalls: 1, children: 1 })
    expect(usage).toMatchObject({ tokens: 220 + 70, turns: 2 + 2, modelCalls: 4, children: 1 })
  })

  it('E1: a call beyond the lease is refused, and the plugin reads why', async () => {
    const { answer, told } = await reach('worker__run', {}, { limits: { maxChildren: 0 } })
    expect(answer).toEqual({ refused: 'worker__run: The budget does not allow this call.' })
    expect(told('lease_refused')).toMatchObject([{ code: 'lease_children' }])
  })

  it('is not repeated after a crash, whatever the manifest says of it', () => {
    const hints = { readOnlyHint: true, idempotentHint: true }
    const go = { name: 'go', description: 'Goes.', annotations: hints }
    const plugin = (more: object) =>
      connectedTools([
        loadOne(
          bundle({ id: 'demo', contributes: { tools: [go] }, ...more }, () => ({
            tools: { go: async () => 1 },
          })),
        ),
      ])('demo__go')
    expect(plugin({})).toMatchObject({ isReadOnly: true, isIdempotent: true })
    for (const more of [{ uses_tools: ['kv'] }, { grants: { model: { max_tokens: 1 } } }])
      expect(plugin(more)).toMatchObject({ isReadOnly: false, isIdempotent: false })
  })
})

describe('model.generate', () => {
  const ask = (input: JsonObject, options?: Options) =>
    call('caller__ask', { prompt: 'hello', ...input }, options)

  it('answers with the text, the model and what it took', async () => {
    const { answer, usage, told } = await ask({}, { lines: [{ text: 'hi' }] })
    expect(answer).toEqual(['fake/fake: hi (100 + 10)'])
    expect(told('model_called')[1]).toMatchObject({ plugin: 'caller', tier: 'builtin' })
    expect(usage).toMatchObject({ tokens: 330, modelCalls: 3 })
  })

  it('E1: stops at max_tokens of the grant, before the request is made', async () => {
    const lines = Array.from({ length: 3 }, () => ({ text: 'hi' }))
    const { answer, models, told, usage } = await ask({ times: 4 }, { lines })
    expect(answer).toBe(
      'lease_tokens: The budget does not allow another model call (150 asked, 70 left).',
    )
    expect(models.requests).toHaveLength(1 + 3 + 1)
    expect(told('lease_refused')).toHaveLength(1)
    expect(usage.tokens).toBe(5 * 110)
  })

  it('a model that was not granted is refused by name, with those that were', async () => {
    const { answer, models } = await ask({ model: 'gpt' })
    expect(answer).toBe('not granted: the model gpt (granted are fake, fake/other)')
    expect(models.requests).toHaveLength(2)
  })

  it('a granted model that no server here serves is not replaced by one that was not granted', async () => {
    const { answer, models } = await ask({ model: 'fake/other' }, { other: 'gpt' })
    expect(answer).toBe(
      'This deployment does not serve the model fake/other: granted are fake, fake/other.',
    )
    expect(models.requests).toHaveLength(2)
  })

  it.each([[{ prompt: '' }, 'model.generate: prompt is empty']])(
    'says which field of %j is wrong',
    async (input, message) => {
      const { answer, models } = await ask(input)
      expect(answer).toBe(message)
      expect(models.requests).toHaveLength(2)
    },
  )

  it('without the grant is refused, and on the record', async () => {
    const tools = [{ name: 'go', description: 'Goes.' }]
    const plugin = loadOne(
      bundle({ id: 'demo', contributes: { tools }, uses_tools: ['kv'] }, () => ({
        tools: { go: async (_input, { model }) => model.generate({ prompt: 'hello' }) },
      })),
    )
    const entry = connectedTools([plugin])('demo__go')
    const journal = createMemoryJournal()
    const models = createFakeModel([{ calls: [{ name: 'demo__go' }] }, { text: 'done' }])
    await createEndingKernel(createKernelParts(models)).run(
      runInput({ toolset: toolsetOf([entry]) }),
      runPorts({ journal }),
    )
    const [turn] = journal.load()
    expect(turn?.calls[0]?.outcome).toMatchObject({
      error: { message: 'not granted: model (add it to grants in plugin.yaml)' },
    })
    expect(turn?.events.map(({ type }) => type)).toContain('capability_refused')
  })
})

describe('Y5: an agent with code of its own', () => {
  const run = (input: JsonObject, options?: Options) => call('caller__run', input, options)

  it("calls its tools and its model, within its section's limits, and counts as a child", async () => {
    const { answer, usage, told } = await run(
      { task: 'succeed', context: 'say' },
      { lines: [{ text: 'It did.' }] },
    )
    expect(answer).toBe('It did.')
    expect(usage).toMatchObject({ tokens: 330, toolCalls: 2, children: 1, modelCalls: 3 })
    expect(told('model_called')[1]).toMatchObject({ plugin: 'caller' })
  })

  it('E1, Y13: is refused a model call that its lease does not hold', async () => {
    // Of 4,444 the run has used 110 and keeps 4,234 for its final call.
    const { answer, models } = await run(
      { task: 'succeed', context: 'say' },
      { limits: { maxTokens: 4_444 } },
    )
    expect(answer).toMatch(/^lease_tokens: .*150 asked, 100 left/)
    expect(models.requests).toHaveLength(2)
  })

  it("reaches the tools of its own section, not those of its plugin's tools", () => {
    const entry = setUp()('caller__run')
    const resolve = entry.inner?.resolve
    if (typeof resolve !== 'function') throw new Error('it reaches what it is not given')
    const names = ['conformance__act', 'worker__run', 'caller__reach']
    expect(names.map((name) => resolve(name, {}) !== undefined)).toEqual([true, false, false])
    expect(entry.spends).toMatchObject({ maxTokens: 20_000, maxToolCalls: 3 })
  })
})
