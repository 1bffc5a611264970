import { describe, expect, test } from 'vitest'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { Plugin } from '#features/plugins/types/plugin.ts'
import { loadPlugins } from '../../../../src/features/plugins/loading/in-process-host.ts'
import { bundle, bundleTools, passAll } from '../../../fakes/plugins.ts'

const load = (...bundled: readonly BundledPlugin[]) => loadPlugins(bundled, { validator: passAll })
const good = bundleTools({ go: async () => 1 }, { id: 'good' })
const agent = { integration_mode: 'tool', model: 'm', instructions: 'p.md' }
const parts = (value: unknown): Plugin => (() => value) as Plugin

describe('the in-process host', () => {
  test('Y22: loads, initializes and wires a plugin', () => {
    const { plugins, problems } = load(good)
    expect(problems).toEqual([])
    expect(plugins[0]).toMatchObject({
      tier: 'builtin',
      protocols: ['ToolProvider'],
      manifest: { id: 'good' },
    })
  })

  test('Y4: sees from what it provides that a plugin is several protocols at once', () => {
    const both = bundle(
      { id: 'both', agent, contributes: { tools: [{ name: 'go', description: 'Go.' }] } },
      () => ({
        tools: { go: async () => 1 },
        agent: { invoke: async () => 'done' },
      }),
    )
    expect(load(both).plugins[0]?.protocols).toEqual(['ToolProvider', 'AgentProvider'])
  })

  test('Y14: an agent section without code is run by our kernel', () => {
    expect(load(bundle({ id: 'reviewer', agent })).plugins[0]?.protocols).toEqual(['AgentProvider'])
  })

  test('register gets id, version and a config it cannot change the manifest through', () => {
    const seen: unknown[] = []
    const register: Plugin = (about) => {
      seen.push(structuredClone(about))
      ;(about.config as { list: string[] }).list.push('b')
      return {}
    }
    const { plugins } = load(bundle({ id: 'configured', config: { list: ['a'] } }, register))
    expect(seen).toEqual([{ id: 'configured', version: '1.0.0', config: { list: ['a'] } }])
    expect(plugins[0]?.manifest.config).toEqual({ list: ['a'] })
  })

  test('a plugin that is not enabled is listed as disabled and does not run', () => {
    const off = bundle({ id: 'off', enabled: false }, () => {
      throw new Error('must not run')
    })
    const { hash, manifest } = off
    expect(load(off)).toEqual({
      plugins: [],
      problems: [],
      warnings: [],
      manifests: [{ id: 'off', version: '1.0.0', hash, manifest, state: 'disabled' }],
    })
  })

  test('config that does not fit config_schema keeps the plugin off', () => {
    const validator = {
      validate: () => ({ ok: false, path: '/port', message: 'must be a number' }) as const,
    }
    const bad = bundle(
      { id: 'bad', config: { port: 'x' }, config_schema: { type: 'object' } },
      () => ({}),
    )
    expect(loadPlugins([bad], { validator }).problems).toEqual([
      { plugin: 'bad', code: 'plugin_manifest_invalid', message: 'config/port: must be a number' },
    ])
  })
})

describe('invariant 7: a broken plugin is listed and the rest load', () => {
  const tools = [{ name: 'go', description: 'Go.' }]
  const hook = { on: 'beforeToolCall' }
  const resource = { name: 'note', uri: 'note://one' }
  const cases: readonly (readonly [
    what: string,
    plugin: BundledPlugin,
    code: string,
    message: RegExp,
  ])[] = [
    ['an unknown manifest key', bundle({ id: 'bad', typo: 1 }), 'plugin_manifest_invalid', /typo/],
    [
      'a manifest that is no object',
      { ...bundle({}), manifest: null },
      'plugin_manifest_invalid',
      /plugin.yaml/,
    ],
    [
      'an api range of the future',
      bundle({ id: 'bad', api: '>=2.0 <3.0' }),
      'plugin_contract_mismatch',
      /plugin API 1\.4\.0/,
    ],
    [
      'an api range that is none',
      bundle({ id: 'bad', api: 'newest' }),
      'plugin_manifest_invalid',
      /version range/,
    ],
    [
      'a register that throws',
      bundle({ id: 'bad' }, () => {
        throw new Error('boom')
      }),
      'plugin_register_failed',
      /boom/,
    ],
    [
      'a register that throws no error',
      bundle({ id: 'bad' }, () => {
        throw undefined
      }),
      'plugin_register_failed',
      /register/,
    ],
    [
      'a register that is async',
      bundle({ id: 'bad' }, parts(Promise.resolve({}))),
      'plugin_register_failed',
      /at once/,
    ],
    [
      'a register that returns nothing',
      bundle({ id: 'bad' }, parts(undefined)),
      'plugin_register_failed',
      /object/,
    ],
    [
      'an entrypoint without register',
      bundle({ id: 'bad', entrypoint: 'main.ts' }),
      'plugin_register_failed',
      /default export/,
    ],
    [
      'a declared tool without function',
      bundle({ id: 'bad', contributes: { tools } }, parts({})),
      'plugin_contract_mismatch',
      /without a function: go/,
    ],
    [
      'an inherited function as a tool',
      bundle(
        { id: 'bad', contributes: { tools: [{ name: 'constructor', description: 'x' }] } },
        parts({ tools: {} }),
      ),
      'plugin_contract_mismatch',
      /constructor/,
    ],
    [
      'a function that is not declared',
      bundle({ id: 'bad' }, parts({ tools: { extra: async () => 1 } })),
      'plugin_contract_mismatch',
      /extra/,
    ],
    [
      'an agent without agent section',
      bundle({ id: 'bad' }, parts({ agent: { invoke: async () => '' } })),
      'plugin_contract_mismatch',
      /agent section/,
    ],
    [
      'an agent without invoke',
      bundle({ id: 'bad', agent }, parts({ agent: {} })),
      'plugin_contract_mismatch',
      /invoke/,
    ],
    [
      'an unknown member',
      bundle({ id: 'bad' }, parts({ tool: {} })),
      'plugin_contract_mismatch',
      /unknown members: tool/,
    ],
    ...['channel', 'service'].map(
      (part) =>
        [
          `the part ${part}`,
          bundle({ id: 'bad' }, parts({ [part]: {} })),
          'plugin_contract_mismatch',
          /not yet/,
        ] as const,
    ),
    [
      'a schedule without code for it',
      bundle({ id: 'bad', schedule: '0 * * * *' }),
      'plugin_manifest_invalid',
      /entrypoint: is required when there is a schedule/,
    ],
    [
      'a schedule without execute',
      bundle({ id: 'bad', schedule: '0 * * * *' }, parts({ schedule: {} })),
      'plugin_contract_mismatch',
      /must return schedule\.execute/,
    ],
    [
      'an execute without a schedule',
      bundle({ id: 'bad' }, parts({ schedule: { execute: async () => {} } })),
      'plugin_contract_mismatch',
      /plugin\.yaml has no schedule/,
    ],
    [
      'a schedule that is no cron expression',
      bundle({ id: 'bad', schedule: '0 24 * * *' }, parts({})),
      'plugin_manifest_invalid',
      /schedule: the hour, "24"/,
    ],
    [
      "a tool with the schedule's name",
      bundle(
        {
          id: 'bad',
          schedule: '0 * * * *',
          contributes: { tools: [{ name: 'execute', description: 'x' }] },
        },
        parts({}),
      ),
      'plugin_manifest_invalid',
      /"execute" beside a schedule/,
    ],
    [
      'a resource without code for it',
      bundle({ id: 'bad', contributes: { resources: [resource] } }),
      'plugin_manifest_invalid',
      /entrypoint: is required when contributes\.resources/,
    ],
    [
      'a provider without function',
      bundle({ id: 'bad', contributes: { providers: ['memory'] } }, parts({})),
      'plugin_contract_mismatch',
      /providers without a function: memory/,
    ],
    [
      'a provider that is not declared',
      bundle({ id: 'bad' }, parts({ providers: { memory: async () => ({}) } })),
      'plugin_contract_mismatch',
      /not in contributes\.providers/,
    ],
    [
      'a provider of something else',
      bundle({ id: 'bad', contributes: { providers: ['scheduler'] } }, parts({})),
      'plugin_manifest_invalid',
      /contributes\.providers\.0/,
    ],
    [
      'a provider that keeps what it has in a session',
      bundle(
        {
          id: 'bad',
          contributes: { providers: ['memory'] },
          grants: { storage: { quota: '1mb', scope: 'session' } },
        },
        parts({ providers: { memory: async () => ({}) } }),
      ),
      'plugin_manifest_invalid',
      /grants\.storage\.scope: must be principal or deployment/,
    ],
    [
      'a resource without function',
      bundle({ id: 'bad', contributes: { resources: [resource] } }, parts({ resources: {} })),
      'plugin_contract_mismatch',
      /resources without a function: note/,
    ],
    [
      'a resource that is not declared',
      bundle({ id: 'bad' }, parts({ resources: { note: async () => '' } })),
      'plugin_contract_mismatch',
      /not in contributes\.resources of plugin\.yaml: note/,
    ],
    [
      'a prompt without function',
      bundle({ id: 'bad', contributes: { prompts: [{ name: 'ask' }] } }, parts({ prompts: {} })),
      'plugin_contract_mismatch',
      /prompts without a function: ask/,
    ],
    [
      'a prompt that is not declared',
      bundle({ id: 'bad' }, parts({ prompts: { ask: async () => '' } })),
      'plugin_contract_mismatch',
      /not in contributes\.prompts of plugin\.yaml: ask/,
    ],
    [
      "a tool with the name of the resources' tool",
      bundle(
        {
          id: 'bad',
          contributes: {
            resources: [resource],
            tools: [{ name: 'read_resource', description: 'x' }],
          },
        },
        parts({}),
      ),
      'plugin_manifest_invalid',
      /may not be "read_resource" beside resources, prompts or events/,
    ],
    [
      'a hook without code for it',
      bundle({ id: 'bad', contributes: { hooks: [hook] } }),
      'plugin_manifest_invalid',
      /entrypoint: is required when contributes\.hooks/,
    ],
    [
      'a hook without function',
      bundle({ id: 'bad', contributes: { hooks: [hook] } }, parts({ hooks: {} })),
      'plugin_contract_mismatch',
      /hooks without a function: beforeToolCall/,
    ],
    [
      'a hook that is not declared',
      bundle({ id: 'bad' }, parts({ hooks: { afterToolCall: async () => {} } })),
      'plugin_contract_mismatch',
      /not in contributes\.hooks of plugin\.yaml: afterToolCall/,
    ],
    [
      'a hook at a point that does not exist',
      bundle({ id: 'bad', contributes: { hooks: [{ on: 'beforeLunch' }] } }, parts({})),
      'plugin_manifest_invalid',
      /contributes\.hooks\.0\.on/,
    ],
    [
      'a hook with a pattern that is none',
      bundle(
        { id: 'bad', contributes: { hooks: [{ on: 'beforeToolCall', match: '*__set' }] } },
        parts({}),
      ),
      'plugin_manifest_invalid',
      /contributes\.hooks\.0\.match: must be a name, or the start of one/,
    ],
    ['a second plugin of the same id', bundle({ id: 'good' }), 'plugin_name_collision', /this id/],
    [
      'a dependency that is missing',
      bundle({ id: 'bad', depends_on: ['nowhere'] }),
      'plugin_dependency_missing',
      /"nowhere", which is not installed/,
    ],
  ]
  test.each(cases)('%s', (_what, broken, code, message) => {
    const { plugins, problems } = load(good, broken)
    expect(plugins.map(({ manifest }) => manifest.id)).toEqual(['good'])
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatchObject({ code, message: expect.stringMatching(message) as string })
  })
})

describe('depends_on', () => {
  const plugin = (id: string, ...dependsOn: readonly string[]) =>
    bundle({ id, depends_on: dependsOn })

  test('Y11: a plugin is enabled after those it depends on', () => {
    const { plugins } = load(plugin('a', 'c'), plugin('b'), plugin('c', 'b'))
    expect(plugins.map(({ manifest }) => manifest.id)).toEqual(['b', 'c', 'a'])
  })

  test('explains a circle and refuses plugins that need one of it', () => {
    const { plugins, problems } = load(
      plugin('a', 'b'),
      plugin('b', 'a'),
      plugin('needs-a', 'a'),
      plugin('free'),
    )
    expect(plugins.map(({ manifest }) => manifest.id)).toEqual(['free'])
    expect(problems.map(({ plugin: id, message }) => [id, message])).toEqual([
      ['a', 'depends_on goes in a circle: a → b → a'],
      ['b', 'depends_on goes in a circle: a → b → a'],
      ['needs-a', 'depends_on names "a", which could not be loaded'],
    ])
  })

  test('says that a dependency is disabled', () => {
    const { problems } = load(plugin('a', 'b'), bundle({ id: 'b', enabled: false }))
    expect(problems[0]?.message).toBe('depends_on names "b", which is disabled')
  })

  test('a dependency whose register fails takes its dependents along', () => {
    const broken = bundle({ id: 'b' }, () => {
      throw new Error('boom')
    })
    expect(
      load(plugin('a', 'b'), broken).problems.map(({ plugin: id, code }) => [id, code]),
    ).toEqual([
      ['b', 'plugin_register_failed'],
      ['a', 'plugin_dependency_missing'],
    ])
  })
})
