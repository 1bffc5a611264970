import type { JsonObject } from '#contracts/json.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { agentToolName } from './sub-agent-tool.ts'
import { resolveUsesTools, type ToolOwner } from './tool-reach.ts'

interface CodeOwner extends ToolOwner {
  readonly plugin: { readonly manifest: Manifest }
}

/** Names in a plugin's `uses_tools` that nobody answers to. */
export type ReportUnknown = (plugin: string, names: readonly string[]) => void

/**
 * Gives the code of each plugin exactly the tools of its `uses_tools`: its tools those of the manifest, an agent with
 * code of its own those of the agent section. All of them are of this one list of owners, so a directory that is built
 * anew holds no tool of an older one.
 */
export function connectCode<Owner extends CodeOwner>(
  owners: readonly Owner[],
  report: ReportUnknown,
  /** Owners of tools without code of theirs here. */
  others: readonly ToolOwner[] = [],
): readonly Owner[] {
  const connected: readonly Owner[] = owners.map((owner) => ({
    ...owner,
    entries: owner.entries.map((entry) => connect(entry, owner)),
  }))
  return connected

  function connect(entry: ToolEntry, { id, plugin: { manifest } }: CodeOwner): ToolEntry {
    if (!entry.inner) return entry
    const { agent, uses_tools: ofCode } = manifest
    // Without an agent section `run` is a tool's name like any other.
    const isAgent = agent !== undefined && entry.tool.name === agentToolName(id)
    const uses = isAgent ? agent.uses_tools : ofCode
    const without = isAgent ? agent.disallowed_tools : undefined
    report(id, resolveUsesTools(uses, [...owners, ...others]).unknown)
    // Plugins may use each other: what each of them reaches is looked up when it is first asked for.
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
