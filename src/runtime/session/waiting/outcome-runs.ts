import { errorCode, IsolaError } from '#contracts/errors.ts'
import { afterFirstCall, type Delivery, type SubmitRequest } from '../types/submission.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import { toRepeated } from '../entry/submit-as.ts'
import { keyedRunId, outcomeKey } from '../storage/ids.ts'
import type { LiveRun } from '../runs/live-runs.ts'
import type { Runs } from '../runs/runs.ts'
import { runBefore, type SessionStore } from '../storage/store.ts'
import type { InboxItem, RunRow } from '../storage/stored-rows.ts'
import type { Transcript } from '../log/transcript.ts'

/** Runs in a row that outcomes may begin; after that a caller has to ask again. */
export const maxOutcomeRuns = 4

/**
 * Whether an outcome begins a run. A run that is still at work reads the outcome itself. In a session to which no
 * caller comes back (a sub-agent's, one without a name, a response), or after a cancel, the outcome is only noted.
 */
export function beginsRun(row: RunRow, { onOutcome }: Delivery, store: SessionStore): boolean {
  const { lineage, isStateless, directCall, after, echo } = row.submission
  const final = store.final(row.order)
  if (onOutcome !== 'run' || !final || final.state === 'cancelled') return false
  if (lineage || isStateless || directCall || after || echo) return false
  return begunInARow(store) < maxOutcomeRuns
}

/**
 * Runs that outcomes began since a caller asked, and runs that they are about to begin. Counted from the end, until
 * there are too many: no more of a long session is read.
 */
function begunInARow(store: SessionStore): number {
  let count = store.pending.count()
  let last = runBefore(store, store.lastOrder() + 1)
  while (last?.submission.begunBy && count < maxOutcomeRuns) {
    count += 1
    last = runBefore(store, last.order)
  }
  return count
}

interface OutcomeRunParts {
  readonly store: SessionStore
  readonly runs: Runs
  readonly transcript: Transcript
  readonly runtime: Pick<SessionRuntime, 'mayBegin' | 'sha256'>
  /** The session of the run. */
  readonly sessionId: string
  /** The session is being deleted: no run begins, and the deletion waits for the acknowledgement. */
  readonly isDeleting: () => boolean
  readonly admit: (request: SubmitRequest) => Promise<{ readonly live: LiveRun | undefined }>
}

/** Temporary errors: the outcome is delivered again, and its run is tried again. */
const passing: ReadonlySet<string> = new Set(['request_unavailable', 'request_queue_full'])

/**
 * Begins the run of an outcome once, however often the outcome is delivered: the run's key follows from the call.
 * The run reserves its lease like any run; if it is refused, the outcome is a note for the next run.
 */
export async function beginByOutcome(delivery: Delivery, parts: OutcomeRunParts): Promise<void> {
  const { parentRun, call } = delivery
  const { store, runs, transcript, runtime, admit, isDeleting } = parts
  const row = store.findRun(parentRun)
  const item = row && itemOf(row, call)
  if (!row || !item?.begins) return
  const request = toRequest(row, item, delivery)
  try {
    if (await isBegun(request, parts)) return
    if (isDeleting()) throw new IsolaError('request_conflict', 'The session is being deleted.')
    if (!(await runtime.mayBegin(row.submission)))
      throw new IsolaError(
        'request_forbidden',
        'The key or sign-in that requested this run may not begin it any more.',
      )
    const { live } = await admit(request)
    await live?.accepted
  } catch (error) {
    const code = errorCode(error)
    if (!isDeleting() && (code === undefined || passing.has(code))) throw error
    // Another delivery may have begun the run while this one was refused.
    if (await isBegun(request, parts)) return
    const now = store.findRun(parentRun)
    if (!now) throw error
    store.together(() => {
      runs.change(now, { inbox: (now.inbox ?? []).map((one) => noteOf(one, call)) })
      store.pending.remove(parentRun, call)
    })
    transcript.forget()
  }
}

/** Whether the run exists; waits for a run that is about to be accepted. */
async function isBegun(
  { principal, idempotencyKey: key = '' }: SubmitRequest,
  { store, runs, runtime, sessionId: session }: OutcomeRunParts,
): Promise<boolean> {
  const id = keyedRunId({ session, principal, key }, runtime.sha256)
  await runs.live(id)?.accepted.catch(() => {})
  return store.findRun(id) !== undefined
}

const itemOf = ({ inbox = [] }: RunRow, call: string): InboxItem | undefined =>
  inbox.find((item) => item.call === call)

function noteOf(item: InboxItem, call: string): InboxItem {
  if (item.call !== call) return item
  const { begins: _refused, ...note } = item
  return note
}

/**
 * The request of the run that started the work, for its outcome. The rest of its limits is computed when the run
 * begins.
 */
function toRequest(
  { id, submission }: RunRow,
  { message }: InboxItem,
  { call, session }: Delivery,
): SubmitRequest {
  const { messages: _said, pauses, clientTools, mayAsk, parameters, begunBy, ...kept } = submission
  return toRepeated(kept, {
    under: outcomeKey(id, call),
    // The first run has made its forced first call.
    ...(parameters && { parameters: afterFirstCall(parameters) }),
    // No connected client could run its tools.
    ...(pauses === 'park' && { pauses, ...(clientTools && { clientTools }) }),
    ...(pauses === 'park' && mayAsk && { mayAsk }),
    messages: [message],
    // A deleted session is not made again.
    mustExist: true,
    begunBy: { run: id, call, session, depth: (begunBy?.depth ?? 0) + 1 },
  })
}
