import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import { diffLines, type LineDiff } from '#contracts/line-diff.ts'
import { valueLines } from '#features/skills/types/line-diff.ts'

/** The differences between two definitions, a line each with its position. Order counts, of fields too. */
export const definitionDiff = (before: AgentDefinition, after: AgentDefinition): LineDiff =>
  diffLines(valueLines(before), valueLines(after))
