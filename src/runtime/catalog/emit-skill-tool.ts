import { headOf } from '#contracts/cut.ts'
import { ownLabel } from '#contracts/label.ts'
import type { EmitSkill } from './types/skill-draft.ts'
import type { ToolEntry, ToolResult } from '#contracts/tool.ts'

/** The tool that keeps a skill as a draft; only agents that may write skills have it. */
export const emitSkillName = 'isola__emit_skill'

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
