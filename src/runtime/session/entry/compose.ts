import type { SessionEntry } from '../types/session-entry.ts'
import type { Sources } from '#contracts/sources.ts'
import { createConverse } from './converse.ts'
import { createReadLog } from './follow-run.ts'
import { createRunInput, type RunInputParts } from './run-input.ts'
import { createSubmitAs, type SubmitParts } from './submit-as.ts'

/** What every surface has work done with, over the way to sessions. */
export const composeEntry = (
  parts: Pick<Sources, 'clock' | 'ids'> & RunInputParts & Pick<SubmitParts, 'isCatalogSilent'>,
): SessionEntry => ({
  submitAs: createSubmitAs(parts),
  converse: createConverse(parts),
  readLog: createReadLog(parts),
  input: createRunInput(parts),
})
