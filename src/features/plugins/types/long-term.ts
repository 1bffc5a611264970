import type { MemoryScope, NotePlace } from '#contracts/long-term.ts'

/** The place of a scope; `agent` names the agent for that scope. */
export const placeOf = (scope: MemoryScope, agent: string): NotePlace =>
  scope === 'agent' ? `agent:${agent}` : scope
