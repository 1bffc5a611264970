import type { ToolEntry } from '#contracts/tool.ts'
import { bundledPlugins } from '../../src/bundled.gen.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { loadPlugins } from '../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { createCapabilityDeps, type FakeDeps } from './plugins.ts'

/** The tools of a plugin that ships, switched on, in process. `config` goes over that of its manifest. */
export function bundledEntries(
  id: string,
  deps: FakeDeps = {},
  changes: Readonly<Record<string, unknown>> = {},
): readonly ToolEntry[] {
  const found = bundledPlugins.find(({ manifest }) => (manifest as { id: string }).id === id)
  if (!found) throw new Error(`no plugin ${id}`)
  const manifest = { ...(found.manifest as object), enabled: true, ...changes }
  const report = loadPlugins([{ ...found, manifest }], { validator: createSchemaValidator() })
  const [plugin] = report.plugins
  if (!plugin) throw new Error(JSON.stringify(report.problems))
  return toToolEntries(plugin, createCapabilityDeps(deps))
}
