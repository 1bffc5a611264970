import type { Converse, ReadLog } from './follow-run.ts'
import type { RunInput } from './run-input.ts'
import type { SubmitAs } from './submit-as.ts'

/** The way to have work done, the same for every surface: none of it knows how a request came in. */
export interface SessionEntry {
  readonly submitAs: SubmitAs
  readonly converse: Converse
  readonly readLog: ReadLog
  readonly input: RunInput
}
