import type { JsonObject } from '#contracts/json.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { agentToolName } from './sub-agent-tool.ts'
import { resolveUsesTools, type PluginOwner, type ToolOwner } from './tool-reach.ts'

/** Hears of names in a plugin's `uses_tools` that no tool here has. */
type ReportUnknown = (plugin: string, names: readonly string[]) => void

/**
 * Gives the code of each plugin exactly the tools of its `uses_tools`: its tools get the list of the manifest, an agent
 * with code of its own gets the list of its agent section. All tools come from this one list of owners, so that a new
 * generation holds no tool of an older one.
 */
export function connectCode<Owner extends PluginOwner>(
  owners: readonly Owner[],
  report: ReportUnknown,
  /** Owners of tools that run no code here. */
  others: readonly ToolOwner[] = [],
): readonly Owner[] {
  const connected: readonly Owner[] = owners.map((owner) => ({
    ...owner,
    entries: owner.entries.map((entry) => connect(entry, owner)),
  }))
  return connected

  function connect(entry: ToolEntry, { id, plugin: { manifest } }: PluginOwner): ToolEntry {
    if (!entry.inner) return entry
    const { agent, uses_tools: ofCode } = manifest
    // Without an agent section `run` is a tool's name like any other.
    const isAgent = agent !== undefined && entry.tool.name === agentToolName(id)
    const uses = isAgent ? agent.uses_tools : ofCode
    const without = isAgent ? agent.disallowed_tools : undefined
    report(id, resolveUsesTools(uses, [...owners, ...others]).unknown)
    // Plugins may use each other: the tools of each are looked up at the first call.
    const reach: { tools?: ReadonlyMap<string, ToolEntry> } = {}
    const tools = () =>
      (reach.tools ??= new Map(
        resolveUsesTools(uses, [...connected, ...others], without).entries.map((one) => [
          one.tool.name,
          one,
        ]),
      ))
    const inner = {
      ...entry.inner,
      resolve: (name: string, input: JsonObject) => {
        const found = tools().get(name)
        return found && { entry: found, input }
      },
    }
    return { ...entry, inner }
  }
}
