import type { IsThere } from '#contracts/skill.ts'
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
    const [kind, wanted = ''] = requirement.split(':')
    const isOwner = kind === 'plugin'
    if ((isOwner ? owners : names).has(wanted)) return true
    if (!beyond) return false
    await beyond.ready([wanted])
    return isOwner ? beyond.owns(wanted) : beyond.entry(wanted) !== undefined
  }
}
