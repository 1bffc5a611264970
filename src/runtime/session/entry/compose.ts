import type { SessionEntry } from '../types/session-entry.ts'
import type { Sources } from '#contracts/sources.ts'
import { createConverse } from './converse.ts'
import { createReadLog } from './follow-run.ts'
import { createRunInput, type RunInputParts } from './run-input.ts'
import { createSubmitAs } from './submit-as.ts'

/** Composes the entry to sessions that every surface uses. */
export const composeEntry = (
  parts: Pick<Sources, 'clock' | 'ids'> & RunInputParts,
): SessionEntry => ({
  submitAs: createSubmitAs(parts),
  converse: createConverse(parts),
  readLog: createReadLog(parts),
  input: createRunInput(parts),
})
