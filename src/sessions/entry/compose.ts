import type { SessionEntry } from '#contracts/session-entry.ts'
import type { SessionGateway } from '#contracts/session-api.ts'
import type { Sources } from '#contracts/sources.ts'
import { createConverse } from './converse.ts'
import { createReadLog } from './follow-run.ts'
import { createSubmitAs } from './submit-as.ts'

/** What every surface has work done with, over the way to sessions. */
export const composeEntry = (
  parts: Pick<Sources, 'clock' | 'ids'> & { readonly sessions: SessionGateway },
): SessionEntry => ({
  submitAs: createSubmitAs(parts),
  converse: createConverse(parts),
  readLog: createReadLog(parts),
})
