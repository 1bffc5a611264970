import type { MemoryScope, NotePlace } from '#contracts/long-term.ts'

/** The place of a scope; `agent` is whose it is there. */
export const placeOf = (scope: MemoryScope, agent: string): NotePlace =>
  scope === 'agent' ? `agent:${agent}` : scope
