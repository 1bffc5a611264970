import type { ToolEntry } from '#contracts/tool.ts'
import { connectCode } from '../../src/features/agents/tool-reach.ts'
import type { CapabilityDeps } from '../../src/features/plugins/capabilities/capability-deps.ts'
import type { LoadedPlugin } from '../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { createCapabilityDeps } from './plugins.ts'

/** The tools of plugins as the directory of agents connects them, by name; `more` are those of plugins without code. */
export function connectedTools(
  plugins: readonly LoadedPlugin[],
  deps: Partial<CapabilityDeps> = {},
  more: readonly { readonly plugin: LoadedPlugin; readonly entries: readonly ToolEntry[] }[] = [],
): (name: string) => ToolEntry {
  const owners = [
    ...plugins.map((plugin) => ({
      plugin,
      entries: toToolEntries(plugin, createCapabilityDeps(deps)),
    })),
    ...more,
  ].map((owner) => ({ ...owner, id: owner.plugin.manifest.id }))
  const entries = connectCode(owners, () => {}).flatMap((owner) => owner.entries)
  return (name) => {
    const entry = entries.find(({ tool }) => tool.name === name)
    if (!entry) throw new Error(`no ${name} among ${entries.map((one) => one.tool.name)}`)
    return entry
  }
}
