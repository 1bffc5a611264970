import { toRequired, type IsThere } from './types/skill.ts'
import type { MoreTools, ToolEntry } from '#contracts/tool.ts'
import { ownerOf } from '#contracts/tool-name.ts'

/**
 * Whether an agent has what a skill requires: a tool (`tool:sql__query`), or any tool of an owner (`plugin:http`). What is
 * not here is looked up; rejects if nobody can be asked.
 */
export function createPresence(
  reach: readonly ToolEntry[],
  beyond: Pick<MoreTools, 'ready' | 'entry' | 'owns'> | undefined,
): IsThere {
  const names = new Set(reach.map(({ tool }) => tool.name))
  const owners = new Set([...names].map(ownerOf))
  return async (requirement) => {
    const wanted = toRequired(requirement)
    if ('tool' in wanted ? names.has(wanted.tool) : owners.has(wanted.owner)) return true
    if (!beyond) return false
    await beyond.ready(['tool' in wanted ? wanted.tool : wanted.owner])
    return 'tool' in wanted ? beyond.entry(wanted.tool) !== undefined : beyond.owns(wanted.owner)
  }
}
