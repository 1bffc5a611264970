import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { describe, expect, test } from 'vitest'
import { orchestratorLimits } from '../../../src/features/agents/types.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { InstalledPlugin } from '../../../src/features/agents/wire-agents.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { withOutsideTools } from '../../../src/runtime/catalog/outside-tools.ts'
import { createPresence } from '../../../src/runtime/catalog/skill-tool.ts'
import { createToolset } from '../../../src/runtime/catalog/toolset.ts'
import { createPromptStore } from '../../../src/features/memory/prompt-store.ts'
import { toToolEntries } from '../../../src/features/plugins/tools/tool-entries.ts'
import { openAgents, type OpenAgentsOptions } from '../../fakes/agents.ts'
import { createManualClock } from '../../fakes/manual-clock.ts'
import {
  bundle,
  bundleTools,
  createCapabilityDeps,
  loadOne,
  runningIsolates,
} from '../../fakes/plugins.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { createFakeGateway, submitAsTo } from '../../fakes/session-gateway.ts'

const section = (overrides: Record<string, unknown> = {}) => ({
  integration_mode: 'tool',
  model: 'openai/x',
  instructions: 'p.md',
  ...overrides,
})
const agentPlugin = (
  id: string,
  overrides: Record<string, unknown> = {},
  text = 'You work.',
): BundledPlugin => ({
  ...bundle({ id, description: `The ${id}.`, agent: section(overrides) }),
  files: { 'p.md': text },
})
const shell = bundleTools({ exec: async () => 1, ps: async () => 1 }, { id: 'shell' })
const files = bundleTools(
  { read: async () => 1, write: async () => 1 },
  { id: 'files', natural_language_description: 'Use for files.\n## DO NOT use else.' },
)

function setUp(bundled: readonly BundledPlugin[], overrides: Partial<OpenAgentsOptions> = {}) {
  const capabilities = createCapabilityDeps()
  const plugins: readonly InstalledPlugin[] = bundled.map((entry) => {
    const loaded = loadOne(entry, runningIsolates)
    return { ...loaded, tools: toToolEntries(loaded, capabilities) }
  })
  return openAgents({
    plugins,
    prompts: createPromptStore(),
    sessions: createFakeGateway(),
    submitAs: submitAsTo(createFakeGateway()),
    clock: createManualClock(),
    createToolset: (entries, options) =>
      createToolset(entries, { ...options, buildIndex: createSearchIndex }),
    withOutside: withOutsideTools,
    presence: createPresence,
    sha256,
    pinned: plugins.flatMap(({ manifest: { id, agent }, tools }) => [
      ...tools.map(({ tool }) => tool.name),
      ...(agent ? [`${id}__run`] : []),
    ]),
    count: createTokenEstimator(),
    ...overrides,
  })
}
async function toolNames({ directory }: ReturnType<typeof setUp>, agent: string) {
  return (await directory.load(agent, {}))?.toolset.definitions.map(({ name }) => name)
}

describe('a sub-agent', () => {
  test('Y15: reaches exactly the tools of its uses_tools', async () => {
    const catalog = setUp([shell, files, agentPlugin('rev', { uses_tools: ['files__read'] })])
    expect(await toolNames(catalog, 'rev')).toEqual(['files__read'])
    const { toolset } = (await catalog.directory.load('rev', {}))!
    for (const name of ['files__write', 'shell__exec', 'isola__find', 'isola__call', 'rev__run']) {
      expect(toolset.resolve(name, { name: 'shell__exec', input: {} })).toBeUndefined()
    }
  })

  test('Y15: with an empty uses_tools has no tool', async () => {
    expect(await toolNames(setUp([shell, agentPlugin('rev')]), 'rev')).toEqual([])
  })

  test('P30: has the tool that keeps drafts of skills only where its manifest says so', async () => {
    const asked: unknown[] = []
    setUp([shell, agentPlugin('plain'), agentPlugin('author', { allow_skill_emission: true })], {
      createToolset: (entries, { emitsSkills, ...options }) => {
        asked.push(emitsSkills)
        return createToolset(entries, { ...options, buildIndex: createSearchIndex })
      },
    })
    // The orchestrator, which the policy lets or not; then each in turn.
    expect(asked.slice(-2)).toEqual([undefined, true])
  })

  test('a plugin id means all its tools, its agent included', async () => {
    expect(
      await toolNames(
        setUp([shell, agentPlugin('rev'), agentPlugin('lead', { uses_tools: ['rev', 'shell'] })]),
        'lead',
      ),
    ).toEqual(['shell__exec', 'shell__ps', 'rev__run'])
  })

  test('an entry that names nothing is listed and the rest works', async () => {
    const catalog = setUp([
      files,
      agentPlugin('rev', { uses_tools: ['files__read', 'nowhere', 'isola__find'] }),
    ])
    expect(catalog.problems.map(({ plugin, code, message }) => [plugin, code, message])).toEqual([
      [
        'rev',
        'plugin_dependency_missing',
        'uses_tools: "nowhere" is neither an enabled plugin nor one of its tools',
      ],
      [
        'rev',
        'plugin_dependency_missing',
        'uses_tools: "isola__find" is neither an enabled plugin nor one of its tools',
      ],
    ])
    expect(await toolNames(catalog, 'rev')).toEqual(['files__read'])
  })

  test('Y6: is listed with its descriptor', () => {
    expect(setUp([agentPlugin('rev')]).directory.list()).toEqual([
      expect.objectContaining({ name: 'orchestrator' }),
      { name: 'rev', description: 'The rev.', integrationMode: 'tool' },
    ])
  })

  test.each([
    [
      'instructions that do not render',
      agentPlugin('bad', {}, '{{ missing }}'),
      'plugin_prompt_invalid',
      /missing/,
    ],
    [
      'instructions that are not there',
      agentPlugin('bad', { instructions: 'other.md' }),
      'plugin_prompt_invalid',
      /other\.md/,
    ],
    ["the orchestrator's id", agentPlugin('orchestrator'), 'plugin_name_collision', /taken/],
  ])('invariant 7: %s keeps it off and the rest on', async (_what, bad, code, message) => {
    const catalog = setUp([files, bad, agentPlugin('rev')])
    expect(catalog.problems).toEqual([
      {
        plugin: (bad.manifest as { id: string }).id,
        code,
        message: expect.stringMatching(message) as string,
      },
    ])
    expect(await catalog.directory.load('bad', {})).toBeUndefined()
    expect(catalog.directory.list().map(({ name }) => name)).toEqual(['orchestrator', 'rev'])
    expect(await toolNames(catalog, 'orchestrator')).toEqual([
      'isola__find',
      'isola__call',
      'files__read',
      'files__write',
      'rev__run',
    ])
  })

  test('Y16: with code of its own is a tool like the rest, and no session of ours', async () => {
    const own = bundle({ id: 'own', agent: section() }, () => ({
      agent: { invoke: async () => 'x' },
    }))
    const catalog = setUp([own])
    expect(catalog.problems).toEqual([])
    expect(await toolNames(catalog, 'orchestrator')).toContain('own__run')
    expect(await catalog.directory.load('own', {})).toBeUndefined()
  })
})

describe('the orchestrator', () => {
  test('Y1, Y19: is there without any plugin, with the core tools', async () => {
    const catalog = setUp([])
    const { spec, toolset } = (await catalog.directory.load('orchestrator', {}))!
    expect(toolset.definitions.map(({ name }) => name)).toEqual(['isola__find', 'isola__call'])
    expect(spec).toMatchObject({
      id: 'orchestrator',
      model: undefined,
      limits: orchestratorLimits,
      provenance: { template: 'isola/orchestrator', version: '1' },
    })
    expect(spec.instructions).toContain('## Available tools\n(none)\n')
    expect(spec.instructions).toContain('## Available agents\n(none)\n')
  })

  test('Y18: its prompt lists tools and agents separately, each on one line', async () => {
    const { directory } = setUp([files, agentPlugin('rev')])
    const { instructions } = (await directory.load('orchestrator', {}))!.spec
    const [, tools = '', agents = ''] =
      /## Available tools\n([\s\S]*?)\n\n## Available agents\n([\s\S]*?)\n\n/.exec(instructions) ??
      []
    expect(tools).toBe('- files__read, files__write: Use for files. ## DO NOT use else.')
    expect(agents).toBe('- rev__run: The rev.')
  })

  test('Y18: its prompt says what an agent is, and the definition when to use it: nothing is sent twice', async () => {
    const use = 'Use when a review is asked for.'
    const about = { id: 'rev', description: 'The rev.', natural_language_description: use }
    const plugin = { ...bundle({ ...about, agent: section({}) }), files: { 'p.md': 'You work.' } }
    const { directory } = setUp([plugin])
    const { spec, toolset } = (await directory.load('orchestrator', {}))!
    expect(spec.instructions).toContain('- rev__run: The rev.\n')
    expect(spec.instructions).not.toContain(use)
    expect(toolset.definitions.at(-1)).toMatchObject({
      name: 'rev__run',
      description: `The rev.\n${use}`,
    })
  })

  test('Y15: does not see what its own uses_tools leaves out', async () => {
    const catalog = setUp([shell, files, agentPlugin('rev', { uses_tools: ['shell'] })], {
      orchestratorUsesTools: ['files', 'rev'],
    })
    expect(await toolNames(catalog, 'orchestrator')).toEqual([
      'isola__find',
      'isola__call',
      'files__read',
      'files__write',
      'rev__run',
    ])
    const { toolset, spec } = (await catalog.directory.load('orchestrator', {}))!
    expect(toolset.resolve('isola__call', { name: 'shell__exec', input: {} })).toBeUndefined()
    expect(spec.instructions).not.toContain('shell')
    expect(await toolNames(catalog, 'rev')).toEqual(['shell__exec', 'shell__ps'])
  })

  test('tools that did not ship with the deployment are not pinned but found', async () => {
    const loaded = { ...loadOne(shell), tier: 'community' as const }
    const catalog = setUp([], {
      plugins: [{ ...loaded, tools: toToolEntries(loaded, createCapabilityDeps()) }],
    })
    expect(await toolNames(catalog, 'orchestrator')).toEqual(['isola__find', 'isola__call'])
    const { toolset, spec } = (await catalog.directory.load('orchestrator', {}))!
    expect(
      toolset.resolve('isola__call', { name: 'shell__exec', input: {} })?.entry.tool.name,
    ).toBe('shell__exec')
    expect(spec.instructions).not.toContain('shell')
  })

  test('its prompt and definitions are byte-identical from load to load', async () => {
    const { directory } = setUp([files, shell, agentPlugin('rev')])
    const once = async () => {
      const { spec, toolset } = (await directory.load('orchestrator', {}))!
      return JSON.stringify([spec, toolset.definitions])
    }
    expect(await once()).toBe(await once())
  })

  test('overrides apply to it too', async () => {
    const { spec } = (await setUp([]).directory.load('orchestrator', {
      model: 'openai/y',
      clientInstructions: 'Be brief.',
      parameters: { temperature: 1 },
    }))!
    expect(spec).toMatchObject({ model: 'openai/y', parameters: { temperature: 1 } })
    expect(spec.instructions).toMatch(/rank below the above\):\nBe brief\.$/)
  })
})

test('an agent that is not installed is undefined', async () => {
  const { directory } = setUp([])
  for (const name of ['nowhere', 'constructor', '__proto__'])
    expect(await directory.load(name, {})).toBeUndefined()
})

describe('code mode', () => {
  const code = bundleTools(
    { run: async () => 1 },
    { id: 'code', api: '>=1.1 <2.0', grants: { isolate: true }, uses_tools: ['shell'] },
  )
  const coder = (more: object = {}) =>
    agentPlugin('rev', { uses_tools: ['files'], code_mode: true, ...more })
  const pair = ['isola__find', 'code__run']

  test('P32: an agent that asks for it has the pair, and code that reaches its own tools only', async () => {
    const catalog = setUp([shell, files, code, coder()])
    expect(await toolNames(catalog, 'rev')).toEqual(pair)
    const { toolset } = (await catalog.directory.load('rev', {}))!
    expect(toolset.resolve('code__run', {})?.entry.inner?.resolve).toBe('agent')
    expect(toolset.resolve('files__read', {})).toBeDefined()
    expect(toolset.resolve('shell__exec', {})).toBeUndefined()
    expect(catalog.problems).toEqual([])
  })

  test('an agent that names the tool, and does not ask for code mode, has it as it is', async () => {
    const catalog = setUp([shell, code, agentPlugin('rev', { uses_tools: ['code'] })])
    expect(await toolNames(catalog, 'rev')).toEqual(['code__run'])
    const { toolset } = (await catalog.directory.load('rev', {}))!
    expect(toolset.resolve('code__run', {})?.entry.inner?.resolve).toBeTypeOf('function')
  })

  test.each([
    ['the plugin is off', [shell, files, coder()]],
    ['the agent may not use it', [shell, files, code, coder({ disallowed_tools: ['code'] })]],
    [
      'it did not ship with the deployment',
      [
        shell,
        files,
        { ...code, isolated: { code: '', tier: 'trusted' as const, grantEpoch: 0 } },
        coder(),
      ],
    ],
  ])('calls its tools one by one, and says so, where %s', async (_name, plugins) => {
    const catalog = setUp(plugins)
    expect(await toolNames(catalog, 'rev')).toEqual(['files__read', 'files__write'])
    expect(catalog.problems).toContainEqual({
      plugin: 'rev',
      code: 'code_mode_off',
      message: expect.stringMatching(/^code_mode: the plugin "code" is off/),
    })
  })

  test('the operator gives it to the orchestrator, whose prompt then names no tool', async () => {
    const writesCode = (agent: string) => agent === 'orchestrator'
    const catalog = setUp([shell, files, code, agentPlugin('rev')], { writesCode })
    expect(await toolNames(catalog, 'orchestrator')).toEqual(pair)
    const { spec } = (await catalog.directory.load('orchestrator', {}))!
    expect(spec.instructions).not.toContain('files__read')
    expect(spec.instructions).toContain('call what it names with code__run.')
    expect(await toolNames(catalog, 'rev')).toEqual([])
  })
})
