import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { loadPlugins } from '../../../../src/features/plugins/loading/in-process-host.ts'
import { createCodeSource } from '../../../../src/features/plugins/sandbox/worker-code.ts'
import {
  createIsolateHost,
  type PluginRunnerStub,
} from '../../../../src/features/plugins/sandbox/isolate-host.ts'
import type { RunnerRequest } from '../../../../src/features/plugins/sandbox/run-call.ts'
import { toToolEntries } from '../../../../src/features/plugins/tools/tool-entries.ts'
import { systemSources } from '../../../../src/compose/sources.ts'
import { bundle, bundleTools, createCapabilityDeps, passAll } from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

const isolated = { code: 'export default () => ({})', tier: 'community', grantEpoch: 0 } as const
const tools = [
  { name: 'go', description: 'Goes.', annotations: { readOnlyHint: true }, timeout_ms: 700 },
]
const plugin = (manifest: Record<string, unknown> = {}): BundledPlugin => ({
  ...bundle({ id: 'other', entrypoint: 'main.js', contributes: { tools }, ...manifest }),
  isolated,
})

/** A Runner that answers what the test says and keeps what it was asked. */
function createRunner(answer: string) {
  const requests: RunnerRequest[] = []
  const runner: PluginRunnerStub = {
    run: async (request) => {
      requests.push(request)
      return answer
    },
  }
  const { sha256 } = systemSources
  return {
    requests,
    isolates: createIsolateHost({ runner: () => runner, sha256, shimVersion: 'v' }),
  }
}

describe('a plugin for an isolate', () => {
  it('is wired by its manifest alone, in the shape of every other tool', async () => {
    const { requests, isolates } = createRunner('{"value":{"done":true}}')
    const loaded = loadPlugins([plugin()], { validator: passAll, isolates })
    expect(loaded.problems).toEqual([])
    expect(loaded.plugins).toMatchObject([{ tier: 'community', protocols: ['ToolProvider'] }])
    const [entry] = toToolEntries(loaded.plugins[0]!, createCapabilityDeps())
    expect(Object.keys(entry!)).toEqual([
      'tool',
      'sinks',
      'yields',
      'isReadOnly',
      'isIdempotent',
      'timeoutMs',
      'definitionHash',
      'toldLabel',
      'record',
    ])
    expect(entry).toMatchObject({
      // The plugin's own claim counts for nothing: no operator confirmed it.
      isReadOnly: false,
      record: { plugin: 'other', version: '1.0.0', tier: 'community' },
    })
    expect(requests).toEqual([])
    const result = await entry!.tool.execute({ a: 1 }, createToolContext())
    expect(result).toMatchObject({ ok: true, output: { done: true }, taint: ['tool:other__go'] })
    expect(requests).toMatchObject([{ plugin: 'f'.repeat(64), timeoutMs: 2_700 }])
    expect(JSON.parse(requests[0]!.job)).toEqual({
      about: { id: 'other', version: '1.0.0', config: {} },
      work: { do: 'tool', name: 'go', input: { a: 1 } },
      idempotencyKey: 'run_1:call_1',
      maxChars: requests[0]!.maxChars,
      nonce: 'ref_1',
    })
  })

  it.each([1_000, 400_000])(
    'T9: is refused an answer of %i levels in one clear error',
    async (depth) => {
      const { isolates } = createRunner(`{"value":${'['.repeat(depth)}${']'.repeat(depth)}}`)
      const { plugins } = loadPlugins([plugin()], { validator: passAll, isolates })
      const [entry] = toToolEntries(plugins[0]!, createCapabilityDeps())
      expect(await entry!.tool.execute({}, createToolContext())).toEqual({
        ok: false,
        error: {
          code: 'tool_failed',
          message: expect.stringMatching(/not JSON: .*deeper than 100 levels/) as unknown,
        },
        label: { integrity: 'tool', confidentiality: 'public', sources: [] },
      })
    },
  )

  it('is an agent with code of its own if it has both', async () => {
    const { requests, isolates } = createRunner('{"value":"reviewed"}')
    const agent = { integration_mode: 'tool', model: 'm', instructions: 'p.md' }
    const loaded = loadPlugins([plugin({ contributes: {}, agent })], {
      validator: passAll,
      isolates,
    })
    const [entry] = toToolEntries(loaded.plugins[0]!, createCapabilityDeps())
    expect(entry?.tool.name).toBe('other__run')
    const result = await entry!.tool.execute({ task: 'review' }, createToolContext())
    expect(result).toMatchObject({ ok: true, output: 'reviewed' })
    expect(JSON.parse(requests[0]!.job)).toMatchObject({
      work: { do: 'agent', request: { task: 'review' } },
    })
  })

  it('is off and listed without a Worker Loader, and everything else works', () => {
    const other = bundleTools({ go: async () => 1 })
    const { plugins, problems } = loadPlugins([plugin(), other], { validator: passAll })
    expect(plugins.map(({ manifest }) => manifest.id)).toEqual(['demo'])
    expect(problems).toEqual([
      {
        plugin: 'other',
        code: 'plugin_isolate_unavailable',
        message: expect.stringMatching(
          /\[\[worker_loaders\]\].*"LOADER".*wrangler\.toml/,
        ) as unknown,
      },
    ])
  })

  it('is refused what the other host refuses: a protocol whose room is not built', () => {
    const { isolates } = createRunner('')
    const late = plugin({ contributes: { tools, skills: ['triage'] } })
    const { problems } = loadPlugins([late], { validator: passAll, isolates })
    expect(problems).toMatchObject([
      { code: 'plugin_contract_mismatch', message: expect.stringMatching(/not yet/) as unknown },
    ])
  })

  it('is not in the table of what ships with the deployment', () => {
    const { isolates } = createRunner('')
    expect(loadPlugins([plugin()], { validator: passAll, isolates }).manifests).toEqual([])
  })
})

describe('the code of plugins', () => {
  it('is found by hash, and only if it may run in an isolate', async () => {
    const builtin = { ...bundleTools({ go: async () => 1 }), hash: 'b' }
    const none = async () => Promise.reject(new IsolaError('plugin_code_unavailable', 'none'))
    const codeOf = createCodeSource([builtin, plugin()], { load: none })
    expect(await codeOf('f'.repeat(64))).toBe(isolated.code)
    await expect(codeOf('b')).rejects.toMatchObject({ code: 'plugin_code_unavailable' })
  })
})
