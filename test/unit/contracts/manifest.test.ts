import { describe, expect, it } from 'vitest'
import { parseManifest } from '../../../src/runtime/catalog/types/permit.ts'

const base = { id: 'demo', name: 'Demo', version: '1.0.0', description: 'A demo.' }
const agent = { integration_mode: 'tool', model: 'openai/gpt-4o', instructions: 'prompts/a.md' }
const tool = { name: 'go', description: 'Goes.' }
const withAgent = (more: object) => ({ ...base, agent: { ...agent, ...more } })

describe('a manifest', () => {
  it('Y11: has id, name, version, description, entrypoint, routing text, dependencies and enabled', () => {
    const full = {
      ...base,
      entrypoint: 'main.ts',
      natural_language_description: 'Use for demos. DO NOT USE for anything real.',
      depends_on: ['kv'],
      enabled: false,
    }
    expect(parseManifest(full)).toMatchObject(full)
    expect(parseManifest(base)).toMatchObject({ enabled: true, depends_on: [] })
  })

  it.each(['id', 'name', 'version', 'description'] as const)(
    'Y11: is refused without its %s, and says so',
    (key) => {
      const { [key]: _left, ...rest } = base
      expect(() => parseManifest(rest)).toThrow(
        expect.objectContaining({
          code: 'plugin_manifest_invalid',
          message: expect.stringContaining(key) as string,
        }),
      )
    },
  )

  it('Y12: an agent section has mode, model, instructions, parameters, tools and limits', () => {
    const section = {
      ...agent,
      parameters: { temperature: 0.2, max_output_tokens: 500, timeout_ms: 9_000 },
      uses_tools: ['kv', 'files__read'],
      limits: { max_turns: 3, max_tokens_per_invocation: 1_000, time_budget_ms: 5_000 },
    }
    expect(parseManifest(withAgent(section)).agent).toMatchObject(section)
  })

  it.each(['integration_mode', 'model', 'instructions'] as const)(
    'Y12: an agent section without %s is refused',
    (key) => {
      const { [key]: _left, ...rest } = agent
      expect(() => parseManifest({ ...base, agent: rest })).toThrow(`agent.${key}`)
    },
  )

  describe('P22: a secret has one place', () => {
    const host = 'api.example'
    const parsed = (...secrets: object[]) =>
      parseManifest({ ...base, grants: { secrets: secrets.map((one) => ({ name: 'K', ...one })) } })

    it.each([
      { host, in: 'header', at: 'X-Api-Key' },
      { host, in: 'basic' },
      { host, in: 'path', at: '/bot{}' },
      { host, in: 'path', at: '/v1/keys/{}/use' },
      { host, in: 'query', at: 'api_key' },
      { in: 'hmac', scheme: 'slack' },
    ])('%j', (secret) => expect(() => parsed(secret)).not.toThrow())

    it.each([{ host, in: 'header' }, { host, in: 'path' }, { in: 'hmac' }])(
      'or is read as it was stored before there were places: %j',
      (secret) => expect(parsed(secret).grants.secrets).toEqual([{ name: 'K', ...secret }]),
    )

    it.each([
      [{ host, in: 'header', at: 'X Key' }, 'grants.secrets.0.at: must be the name of a header'],
      [{ host, in: 'header', at: '*' }, 'at: must be the name of a header'],
      [{ host, in: 'path', at: '/bot' }, 'at: must be the path to the secret, with {}'],
      [{ host, in: 'path', at: '/{}/{}' }, 'at: must be the path'],
      [{ host, in: 'path', at: '/a?key={}' }, 'at: must be the path'],
      [{ host, in: 'query' }, 'at: must be the name of a parameter'],
      [{ host, in: 'query', at: 'a&b' }, 'at: must be the name of a parameter'],
      [{ host, in: 'basic', at: 'x' }, 'at: is not for in: basic'],
      [{ host, in: 'header', scheme: 'slack' }, 'scheme: is for in: hmac only'],
      [{ in: 'hmac', scheme: 'rot13' }, 'grants.secrets.0.scheme'],
      [{ in: 'hmac', host }, 'host: is required, but for in: hmac'],
    ])('and no other: %j', (secret, message) => expect(() => parsed(secret)).toThrow(message))

    it('N-1: and one from before has as many as it was let in with', () => {
      const all = Array.from({ length: 18 }, (_, at) => ({ name: `K_${at}`, in: 'hmac' }))
      expect(parsed(...all).grants.secrets).toHaveLength(18)
    })
  })

  it('Y13, Y15: limits are 10 turns, 50,000 tokens and 120 s, and no tool, unless it says otherwise', () => {
    expect(parseManifest(withAgent({})).agent).toMatchObject({
      limits: { max_turns: 10, max_tokens_per_invocation: 50_000, time_budget_ms: 120_000 },
      uses_tools: [],
    })
    expect(parseManifest(withAgent({ limits: { max_turns: 2 } })).agent?.limits).toMatchObject({
      max_turns: 2,
      max_tokens_per_invocation: 50_000,
    })
  })

  it('Y9: terms of a handoff go with that mode, and words are what it answers', () => {
    const parsed = (more: object) => () => parseManifest(withAgent(more))
    expect(parsed({ handoff: {} })).toThrow('agent.handoff: goes with integration_mode: handoff')
    const mode = { integration_mode: 'handoff' }
    expect(parsed({ ...mode, output_schema: { type: 'object' } })).toThrow('agent.output_schema')
    expect(parsed({ ...mode, handoff: { max_messages: 0 } })).toThrow('agent.handoff.max_messages')
    expect(parsed({ ...mode, handoff: { monitor: 'model' } })()).toMatchObject({
      agent: { handoff: { max_messages: 50, timeout_ms: 1_800_000, monitor: 'model' } },
    })
  })

  it.each([
    [{}, []],
    [{ message: {} }, ['message', 'order']],
    [{ text: {} }, []],
  ])(
    'X1: a tool that may keep the conversation takes a message and needs no more, not %j with %j',
    (properties, required) => {
      const input_schema = { type: 'object', properties, required }
      const tools = [{ name: 'a', description: 'A.', input_schema, handoff: {} }]
      const manifest = { ...base, entrypoint: 'main.ts', contributes: { tools } }
      expect(() => parseManifest(manifest)).toThrow('input_schema: must have "message"')
    },
  )

  it.each([-1, 1, 101, 2.5])('I12: says what max_repeats may be, not %s', (max_repeats) => {
    expect(() => parseManifest(withAgent({ limits: { max_repeats } }))).toThrow(
      'agent.limits.max_repeats: must be 0 (never) or 2 to 100',
    )
  })

  it('Y14: the agent section is optional', () => {
    expect(parseManifest(base)).not.toHaveProperty('agent')
  })

  const invalid: readonly (readonly [string, object, string])[] = [
    ['an unknown mode', withAgent({ integration_mode: 'swarm' }), 'agent.integration_mode'],
    ['an empty model', withAgent({ model: '' }), 'agent.model'],
    ['an unknown key of the agent', withAgent({ tools: [] }), 'agent'],
    ['a temperature over 2', withAgent({ parameters: { temperature: 3 } }), 'agent.parameters'],
    ['no turns at all', withAgent({ limits: { max_turns: 0 } }), 'agent.limits.max_turns'],
    ['half a turn', withAgent({ limits: { max_turns: 1.5 } }), 'agent.limits.max_turns'],
    ['negative children', withAgent({ limits: { max_children: -1 } }), 'agent.limits.max_children'],
    [
      'more than an hour',
      withAgent({ limits: { time_budget_ms: 3_600_001 } }),
      'agent.limits.time_budget_ms',
    ],
    ['no price', withAgent({ limits: { max_cost_usd: 0 } }), 'agent.limits.max_cost_usd'],
    ['something to share that there is not', withAgent({ shares: ['disk'] }), 'agent.shares'],
    ['an unknown limit', withAgent({ limits: { max_luck: 1 } }), 'agent.limits'],
    ['tools as a text', withAgent({ uses_tools: 'kv' }), 'agent.uses_tools'],
  ]
  it.each(invalid)('Y17: refuses %s and names where it is', (_what, manifest, path) => {
    expect(() => parseManifest(manifest, 'demo/plugin.yaml')).toThrow(
      expect.objectContaining({
        code: 'plugin_manifest_invalid',
        message: expect.stringMatching(
          new RegExp(`^demo/plugin\\.yaml: ${path.replaceAll('.', '\\.')}`),
        ) as string,
      }),
    )
  })

  const undeclared: readonly (readonly [string, object])[] = [
    ['a key nobody knows', { ...base, magic: true }],
    ['a tool without an entrypoint', { ...base, contributes: { tools: [tool] } }],
    [
      'a tool declared twice',
      { ...base, entrypoint: 'm.ts', contributes: { tools: [tool, tool] } },
    ],
    [
      'a tool that takes the name of its agent',
      {
        ...withAgent({}),
        entrypoint: 'm.ts',
        contributes: { tools: [{ ...tool, name: 'run' }] },
      },
    ],
    ['a grant nobody knows', { ...base, grants: { shell: true } }],
    [
      'a network grant without methods',
      { ...base, grants: { network: [{ host: 'a.example', methods: [] }] } },
    ],
    ['an id that could not be part of a tool name', { ...base, id: 'Demo Plugin' }],
  ]
  it.each(undeclared)('Y25: refuses %s, since everything is declared', (_what, manifest) => {
    expect(() => parseManifest(manifest)).toThrow(
      expect.objectContaining({ code: 'plugin_manifest_invalid' }),
    )
  })

  it('Y25: a manifest has only the parts it declares: no tool, no grant, no agent, no schedule', () => {
    expect(parseManifest(base)).toMatchObject({
      contributes: { tools: [], hooks: [], skills: [] },
      grants: { network: [], secrets: [], workspace: false, memory: false },
    })
    expect(parseManifest(base)).not.toHaveProperty('schedule')
  })
})
