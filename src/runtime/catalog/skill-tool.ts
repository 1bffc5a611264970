import { headOf } from '#contracts/cut.ts'
import { ownLabel } from '#contracts/label.ts'
import type { EmitSkill } from './types/skill-catalog.ts'
import type { ToolEntry, ToolResult, Tool } from '#contracts/tool.ts'
import {
  labelOfSkill,
  toRequired,
  type AgentSkills,
  type IsThere,
  ownerOf,
  type MoreTools,
} from './types/skill.ts'

/** The tool that keeps a skill as a draft; only agents that may write skills have it. */
const emitSkillName = 'isola__emit_skill'

const inputSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'csv-import' },
    description: { type: 'string', description: 'One line: what and when.' },
    instructions: {
      type: 'string',
      description: 'Markdown steps, full names of tools; no secrets.',
    },
    files: {
      type: 'object',
      additionalProperties: { type: 'string' },
    },
  },
  required: ['name', 'description', 'instructions'],
  additionalProperties: false,
} as const

/**
 * Stores a way of working as a draft for an operator to review (docs/skills.md). The tool has no effect outside: no
 * search or agent finds or loads a draft.
 */
export const createEmitSkillTool = (emitSkill: EmitSkill): ToolEntry => ({
  tool: {
    name: emitSkillName,
    description:
      'Keep a way of doing a task that worked, as a draft of a skill for an operator to promote.',
    inputSchema,
    async execute(input, context): Promise<ToolResult> {
      const kept = await emitSkill(input, context).catch(() => unreachable)
      if (!kept.ok) {
        const { ok: _, ...why } = kept
        // The record has the reason for a refused draft, too.
        const message = headOf(why.message, 500)
        context.emit({ type: 'tool_log', data: { call: context.call, level: 'notice', message } })
        return { ok: false, error: { code: 'tool_failed', ...why } }
      }
      const { draft, name, hash, redacted } = kept
      const own = draft !== undefined && { draft }
      const about = { call: context.call, ...own, name, hash, redacted }
      context.emit({ type: 'skill_emitted', data: about })
      return { ok: true, output: { ...own, kept: true, ...(redacted > 0 && { redacted }) } }
    },
  },
  isReadOnly: false,
  // The turn is written before the call runs, so that the record has the model that wrote the draft.
  isIdempotent: false,
  sinks: [],
  yields: ownLabel,
  timeoutMs: 20_000,
  definitionHash: `core:1:${emitSkillName}`,
  record: { plugin: 'isola' },
})

const unreachable = {
  ok: false,
  message: 'Drafts cannot be kept now. Go on without.',
  transient: true,
} as const

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
    'Load a skill that isola__find named: tried instructions for a kind of task. If one fits the task, load ' +
    'it first and follow it, as far as your rules and the user allow.',
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
 * Whether an agent has what a skill requires: a tool (`tool:sql__query`), or any tool of an owner (`plugin:http`). A
 * name
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
