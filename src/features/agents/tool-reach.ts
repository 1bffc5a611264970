import type { Manifest, TrustTier } from '#contracts/manifest/manifest.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'

/** An owner of tools: a plugin with its tools and its agent's tool, or a server. */
export interface ToolOwner {
  readonly id: string
  readonly entries: readonly ToolEntry[]
}

/** A plugin as an owner of tools. */
export interface PluginOwner extends ToolOwner {
  readonly plugin: { readonly manifest: Manifest; readonly tier: TrustTier }
}

/** The tools that an agent may call. */
interface ToolReach {
  readonly entries: readonly ToolEntry[]
  /** Entries of `uses_tools` that fit no enabled tool. */
  readonly unknown: readonly string[]
}

/**
 * Resolves `uses_tools`: a plugin id means all its tools, anything else must be a full tool name (Y15).
 * An empty list is no tool at all, and `disallowed_tools` wins (P30). The order of the tools is that of their owners,
 * whatever the order in the manifest.
 */
export function resolveUsesTools(
  usesTools: readonly string[],
  owners: readonly ToolOwner[],
  disallowed: readonly string[] = [],
): ToolReach {
  const wanted = new Set(usesTools)
  const entries = owners.flatMap((owner) =>
    owner.entries.filter(({ tool: { name } }) => {
      if (disallowed.includes(owner.id) || isMatchOfAny(name, disallowed)) return false
      return wanted.has(owner.id) || wanted.has(name)
    }),
  )
  const names = new Set(
    owners.flatMap((owner) => [owner.id, ...owner.entries.map(({ tool }) => tool.name)]),
  )
  return { entries, unknown: [...wanted].filter((name) => !names.has(name)) }
}
