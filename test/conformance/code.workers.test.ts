import { expect, it, vi } from 'vitest'
import code from 'isolated:plugins/code'
import register from '../../plugins/code/main.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { toCodeTool } from '../../src/runtime/catalog/toolset.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { loadPlugins } from '../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { isolate, isolatedEntries, isolates, modelCode } from '../fakes/isolates.ts'
import { createCapabilityDeps } from '../fakes/plugins.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { describeTool, type ToolInputs } from './describe-tool.ts'
import { toSubject } from './tool-subject.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const { isolate: toIsolated } = await import('../fakes/isolates.ts')
  const { default: folder } = await import('isolated:plugins/code')
  const bundledPlugins: readonly BundledPlugin[] = [toIsolated(folder, 'builtin')]
  return { bundledPlugins }
})
// The Worker was loaded before this file: the next request loads it anew, with the plugin above.

const folder = { ...code, manifest: { ...code.manifest, enabled: true } }

function inProcess() {
  const sessions = createFakeGateway()
  const { plugins } = loadPlugins([{ ...folder, files: {}, register }], {
    validator: createSchemaValidator(),
    isolates,
  })
  const entries = toToolEntries(plugins[0]!, createCapabilityDeps({ sessions, modelCode }))
  return toSubject(entries, 'code__run', sessions)
}

function inIsolate() {
  const sessions = createFakeGateway()
  const entries = isolatedEntries(isolate(folder, 'builtin'), { sessions, modelCode })
  return toSubject(entries, 'code__run', sessions)
}

/** As an agent in code mode has it. */
function inCodeMode() {
  const subject = inIsolate()
  return { ...subject, entry: toCodeTool(subject.entry) }
}

const inputs: ToolInputs = {
  succeed: { code: 'return 6 * 7' },
  invalid: { code: '' },
  fail: [
    { code: 'throw new Error("no")' },
    { code: 'const = 1' },
    { code: 'return tools.call("http__get", {})' },
  ],
  hang: { code: 'await new Promise(() => {})', timeout_ms: 60_000 },
  long: { code: "return `${'lorem '.repeat(6_000)}NEEDLE${' ipsum'.repeat(500)}`" },
}

describeTool('code__run, in process', { inputs, create: inProcess })
describeTool('code__run, in an isolate', { inputs, create: inIsolate })
describeTool('code__run, in code mode', { inputs, create: inCodeMode })

it('P32: may spend what its isolates cost, and has a bridge to the tools that plugin.yaml names', () => {
  const { entry } = inProcess()
  expect(entry.spends?.maxCostNanoUsd).toBeGreaterThanOrEqual(2_000_000)
  expect(entry.inner).toMatchObject({ children: 0 })
  expect(entry).toMatchObject({ isReadOnly: false, isIdempotent: false })
  expect(folder.manifest).toHaveProperty('uses_tools', ['kv', 'files', 'memory'])
})
