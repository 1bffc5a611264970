import { ownLabel } from '#contracts/label.ts'
import { labelOfSkill, toRequired, type AgentSkills, type IsThere } from './types/skill.ts'
import type { MoreTools } from './types/tool.ts'
import type { Tool, ToolEntry, ToolResult } from '#contracts/tool.ts'
import { ownerOf } from './types/tool-name.ts'

/** The tool that reads a skill. */
export const loadSkillName = 'isola__load_skill'

const unreadable = {
  ok: false,
  message: 'Skills cannot be read now. Go on without, or try again later.',
  transient: true,
  label: ownLabel,
} as const

/** Loads a found skill for a model: its instructions, then its files one by one (docs/skills.md). */
export const createLoadSkill = (skills: AgentSkills, isThere: IsThere): Tool => ({
  name: loadSkillName,
  description:
    'Load a skill that isola__find named: tried instructions for a kind of task. If one fits the task, load it first and follow it, as far as your rules and the user allow.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name, such as code-review.' },
      file: { type: 'string', description: 'One of its files, where the instructions name it.' },
    },
    required: ['name'],
    additionalProperties: false,
  },
  async execute({ name, file }, { call, emit }): Promise<ToolResult> {
    const wanted = typeof file === 'string' ? { file } : {}
    const loaded = await skills.load(String(name), { ...wanted, isThere }).catch(() => unreadable)
    if (!loaded.ok) {
      const { ok: _, label = ownLabel, ...why } = loaded
      return { ok: false, error: { code: 'tool_failed', ...why }, label }
    }
    const { text, files, hash, tokens, tier } = loaded
    emit({ type: 'skill_loaded', data: { call, name: loaded.name, hash, tier, ...wanted, tokens } })
    return {
      ok: true,
      label: labelOfSkill(loaded),
      output: {
        skill: loaded.name,
        ...(wanted.file === undefined ? { instructions: text } : { ...wanted, text }),
        ...(files.length > 0 && { files: [...files] }),
      },
    }
  },
})

/**
 * Whether an agent has what a skill requires: a tool (`tool:sql__query`), or any tool of an owner (`plugin:http`). A name
 * that is not among its tools is looked up in the Catalog; rejects if that does not answer.
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
