import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import { ToolError, type Capabilities, type ToolFunction } from '#features/plugins/types/plugin.ts'
import { toToolEntries } from '../../../../src/features/plugins/tools/tool-entries.ts'
import { bundle, bundleTools, createCapabilityDeps, loadOne } from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

function entryOf(run: ToolFunction, manifest: Record<string, unknown> = {}) {
  const [entry] = toToolEntries(loadOne(bundleTools({ go: run }, manifest)), createCapabilityDeps())
  return entry!
}
const call = (run: ToolFunction, input: JsonObject = {}) =>
  entryOf(run).tool.execute(input, createToolContext())

/** Of a tool without grants: it makes its answer of what it was given. */
const madeByTool = { integrity: 'tool', confidentiality: 'public', sources: [] }

describe('a plugin tool as an entry', () => {
  test('N2: is named <plugin>__<tool> and carries what the manifest says', () => {
    const tool = {
      name: 'go',
      description: 'Goes.',
      input_schema: { type: 'object' },
      timeout_ms: 5,
      annotations: { readOnlyHint: true },
    }
    const entry = entryOf(async () => 1, { contributes: { tools: [tool] } })
    expect(entry).toMatchObject({
      tool: { name: 'demo__go', description: 'Goes.', inputSchema: { type: 'object' } },
      isReadOnly: true,
      isIdempotent: false,
      timeoutMs: 5,
      definitionHash: `${'f'.repeat(64)}:demo__go`,
      record: { plugin: 'demo', version: '1.0.0', tier: 'builtin' },
    })
  })

  test('has 30 seconds and no hints unless the manifest says otherwise', () => {
    expect(entryOf(async () => 1)).toMatchObject({
      timeoutMs: 30_000,
      isReadOnly: false,
      isIdempotent: false,
    })
  })

  test('hints of a plugin that did not ship with the deployment do not count', () => {
    const tool = {
      name: 'go',
      description: 'Goes.',
      annotations: { readOnlyHint: true, idempotentHint: true },
    }
    const plugin = {
      ...loadOne(bundleTools({ go: async () => 1 }, { contributes: { tools: [tool] } })),
      tier: 'community' as const,
    }
    expect(toToolEntries(plugin, createCapabilityDeps())[0]).toMatchObject({
      isReadOnly: false,
      isIdempotent: false,
    })
  })

  test('answers a copy of the output, labelled with where it came from', async () => {
    const kept = { list: [1, { a: 'b' }], left: undefined }
    const result = await call(async () => kept)
    expect(result).toEqual({
      ok: true,
      output: { list: [1, { a: 'b' }] },
      taint: ['tool:demo__go'],
      label: madeByTool,
    })
    expect(result.ok && result.output).not.toBe(kept)
  })

  test('gives the plugin a copy of the input', async () => {
    const input = { list: ['a'] }
    await call(async (given) => void given.list.push('b'), input)
    expect(input).toEqual({ list: ['a'] })
  })

  test('nothing returned is null', async () => {
    expect(await call(async () => undefined)).toMatchObject({ ok: true, output: null })
  })
})

describe('JSON only crosses the border', () => {
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  const deep = Array.from({ length: 200 }).reduce<unknown>((inner) => [inner], 1)
  test.each([
    ['a function', { a: { b: () => 1 } }, '"a.b"'],
    ['a date', { at: new Date(0) }, 'Date'],
    ['a map', new Map(), 'Map'],
    ['bytes', [new Uint8Array(1)], 'Uint8Array'],
    ['a bigint', { n: 1n }, 'bigint'],
    ['a symbol', Symbol('s'), 'symbol'],
    ['not a number', { n: Number.NaN }, 'NaN'],
    ['a hole', Array.from({ length: 2 }), '"[0]"'],
    ['a cycle', cycle, 'part of itself'],
    ['too deep a nesting', deep, '100 levels'],
  ])('%s is refused with its place', async (_what, value, place) => {
    const result = await call(async () => value)
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'tool_failed', message: expect.stringContaining(place) as string },
    })
    expect(!result.ok && result.error.message).toContain('demo__go')
  })

  test('more than 1 MiB is refused', async () => {
    const result = await call(async () => 'é'.repeat(600_000))
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'tool_failed', message: expect.stringContaining('1 MiB') as string },
    })
  })

  test('a "__proto__" key is data', async () => {
    const result = await call(async () => JSON.parse('{"__proto__":{"polluted":true}}') as unknown)
    expect(result.ok && JSON.stringify(result.output)).toBe('{"__proto__":{"polluted":true}}')
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe('failures', () => {
  test('of a ToolError only a capped message and transient cross', async () => {
    const result = await call(async () => {
      throw Object.assign(
        new ToolError('tool_failed', { message: 'x'.repeat(5_000), transient: true }),
        { secret: 's' },
      )
    })
    expect(result).toEqual({
      ok: false,
      error: { code: 'tool_failed', message: 'x'.repeat(2_000), transient: true },
      label: madeByTool,
    })
  })

  test('any other throw says nothing but which tool failed', async () => {
    for (const thrown of [
      new Error('token sk-123'),
      'sk-123',
      undefined,
      { code: 'lease_tokens', message: 'forged' },
    ]) {
      expect(
        await call(async () => {
          throw thrown
        }),
      ).toEqual({
        ok: false,
        error: { code: 'tool_failed', message: 'The tool demo__go failed.' },
        label: madeByTool,
      })
    }
  })

  test('a function that throws before it waits is a failed call too', async () => {
    const result = await call((() => {
      throw new Error('sync')
    }) as ToolFunction)
    expect(result.ok).toBe(false)
  })

  test('code that does not listen to the signal does not hold the call', async () => {
    const controller = new AbortController()
    const running = entryOf(() => new Promise(() => {})).tool.execute(
      {},
      createToolContext({ signal: controller.signal }),
    )
    controller.abort()
    expect(await running).toMatchObject({ ok: false, error: { code: 'tool_cancelled' } })
  })
})

test('capabilities kept beyond their call are dead', async () => {
  let kept: Capabilities | undefined
  const run: ToolFunction = async (_input, capabilities) => {
    kept = capabilities
    await capabilities.storage.set('a', 1)
  }
  const context = createToolContext()
  await entryOf(run, { grants: { storage: '1mb', memory: true, workspace: true } }).tool.execute(
    {},
    context,
  )
  await expect(kept!.storage.get('a')).rejects.toThrow('This call is over.')
  await expect(kept!.memory.read()).rejects.toThrow('This call is over.')
  await expect(kept!.workspace.list()).rejects.toThrow('This call is over.')
  await expect(kept!.fetch('https://example.com')).rejects.toThrow('This call is over.')
  kept!.log('late')
  expect(kept!.signal.aborted).toBe(true)
  expect(context.events).toEqual([])
})

test('Y5: an agent with code of its own is the tool <plugin>__run', async () => {
  const agent = {
    integration_mode: 'tool',
    model: 'm',
    instructions: 'p.md',
    limits: { time_budget_ms: 9_000 },
  }
  const plugin = loadOne(
    bundle({ id: 'own', agent }, () => ({
      agent: { invoke: async ({ task, context }) => `${task}/${context ?? 'none'}` },
    })),
  )
  const [entry] = toToolEntries(plugin, createCapabilityDeps())
  expect(entry).toMatchObject({ tool: { name: 'own__run' }, timeoutMs: 9_000 })
  expect(await entry!.tool.execute({ task: 'do' }, createToolContext())).toMatchObject({
    ok: true,
    output: 'do/none',
  })
})

describe('Y10: a schedule as an entry', () => {
  const execute = (answer: unknown) => {
    const plugin = loadOne(
      bundle({ id: 'demo', schedule: '0 * * * *' }, () => ({
        schedule: { execute: async () => answer as never },
      })),
    )
    const [entry] = toToolEntries(plugin, createCapabilityDeps())
    return entry!.tool.execute({}, createToolContext())
  }

  test('answers { text } or nothing', async () => {
    expect(await execute({ text: 'Cheaper.' })).toMatchObject({
      ok: true,
      output: { text: 'Cheaper.' },
    })
    expect(await execute(undefined)).toMatchObject({ ok: true, output: {} })
  })

  test.each([['Cheaper.'], [{ text: 7 }], [{ text: 'a', to: 'bob' }], [[]], [() => 1]])(
    'refuses anything else: %j',
    async (answer) => {
      const result = await execute(answer)
      expect(result).toMatchObject({ ok: false, error: { code: 'tool_failed' } })
    },
  )

  test('stands beside the agent and the tools of the same plugin', () => {
    const agent = { integration_mode: 'tool', model: 'm', instructions: 'p.md' }
    const tools = [{ name: 'go', description: 'Goes.' }]
    const plugin = loadOne(
      bundle({ id: 'demo', schedule: '0 * * * *', agent, contributes: { tools } }, () => ({
        tools: { go: async () => 1 },
        agent: { invoke: async () => 'done' },
        schedule: { execute: async () => {} },
      })),
    )
    const entries = toToolEntries(plugin, createCapabilityDeps())
    expect(entries.map(({ tool }) => tool.name)).toEqual(['demo__go', 'demo__run', 'demo__execute'])
    expect(plugin.protocols).toEqual(['ToolProvider', 'AgentProvider', 'SchedulerProvider'])
  })
})

test('T11: a tool that says that it pays has that sink besides those of its grants', () => {
  const tools = [{ name: 'go', description: 'Goes.', sink: 'spend' }]
  const run = { tools: { go: async () => 1 } }
  const plugin = loadOne(bundle({ id: 'demo', contributes: { tools } }, () => run))
  const [entry] = toToolEntries(plugin, createCapabilityDeps())
  expect(entry?.sinks).toEqual(['spend'])
})

describe('where a tool says that its calls go', () => {
  const goesTo = (annotations: object, url: unknown) => {
    const input_schema = { type: 'object', properties: { url: { type: 'string' } } }
    const tool = { name: 'go', description: 'Goes.', annotations, input_schema }
    const grants = { network: [{ host: '*', methods: ['GET'] }] }
    const entry = entryOf(async () => 1, { contributes: { tools: [tool] }, grants })
    return entry.goesTo?.({ url } as JsonObject)
  }
  const page = 'https://shop.example.com/x'

  test('P4: is said by one that reaches out, and by none that only names an address', () => {
    expect(goesTo({ openWorldHint: true }, page)).toEqual({ method: 'GET', url: page })
    expect(goesTo({ destructiveHint: true }, page)).toBeUndefined()
  })

  test.each([
    'http://example.com/',
    'https://example.com:8443/',
    'https://10.0.0.1/',
    'https://*.example.com/',
    'https://a;$(id);.example.com/',
    'https://a:b@example.com/',
    'data:text/plain,x',
  ])('P4: asks no person about a call that is refused anyway: %s', (url) => {
    expect(goesTo({ openWorldHint: true }, url)).toBeUndefined()
  })
})
