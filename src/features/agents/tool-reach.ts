import type { ToolEntry } from '#contracts/tool.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'

/** What a plugin offers to agents: its tools, and its agent's tool among them. */
export interface ToolOwner {
  readonly id: string
  readonly entries: readonly ToolEntry[]
}

/** The tools that an agent may call. */
export interface ToolReach {
  readonly entries: readonly ToolEntry[]
  /** Entries of `uses_tools` that name nothing that is enabled. */
  readonly unknown: readonly string[]
}

/**
 * Resolves `uses_tools`: a plugin id means all its tools, anything else must be a full tool name (Y15).
 * An empty list is no tool at all, and what is disallowed wins (P30). Order is the owners', so that it does not depend on how a manifest lists them.
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
