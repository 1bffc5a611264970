import { toRequired, type IsThere } from '#runtime/catalog/types/skill.ts'
import type { AgentDirectory } from '../types/runtime.ts'

/** Looks a requirement up among all enabled extensions, whichever agents have them. */
export function presenceIn({
  agents,
}: {
  readonly agents: Pick<AgentDirectory, 'toolNames'>
}): IsThere {
  const names = new Map<string, Promise<boolean>>()
  const isAny = async (wanted: string) => (await agents.toolNames([wanted])).length > 0
  return (requirement) => {
    const wanted = toRequired(requirement)
    const pattern = 'tool' in wanted ? wanted.tool : `${wanted.owner}__*`
    const known = names.get(pattern) ?? isAny(pattern)
    names.set(pattern, known)
    return known
  }
}
