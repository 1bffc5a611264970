import type { RunIndex } from './run-index.ts'

/** What came of a call in the background, and is about to begin a run: by the run that made the call. */
export interface PendingOutcomes {
  /** How many there are; reads no runs. */
  readonly count: () => number
  readonly list: () => readonly { readonly run: string; readonly call: string }[]
  readonly add: (run: string, call: string) => void
  /** Its run has begun, or was refused. */
  readonly remove: (run: string, call: string) => void
}

export function createPendingOutcomes(
  index: Pick<RunIndex, 'keys' | 'put' | 'remove'>,
): PendingOutcomes {
  const keyOf = (run: string, call: string) => `${run} ${call}`
  return {
    count: () => index.keys('begins').length,
    list: () =>
      index.keys('begins').map((key) => {
        const at = key.indexOf(' ') // the id of a run has none
        return { run: key.slice(0, at), call: key.slice(at + 1) }
      }),
    add: (run, call) => index.put('begins', keyOf(run, call), 1),
    remove: (run, call) => index.remove('begins', keyOf(run, call)),
  }
}
