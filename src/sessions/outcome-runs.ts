import { errorCode, IsolaError } from '#contracts/errors.ts'
import { onlyLimited } from '#contracts/lease.ts'
import type { SessionRuntime } from '#contracts/runtime.ts'
import type { Delivery, SubmitRequest } from '#contracts/session.ts'
import { leftBy } from './run-limits.ts'
import type { LiveRun, Runs } from './runs.ts'
import type { InboxItem, RunRow, SessionStore } from './store.ts'
import type { Transcript } from './transcript.ts'

/** So many runs in a row are begun by outcomes; after that somebody has to ask again. */
export const maxOutcomeRuns = 4

/**
 * Whether an outcome begins a run. One whose run is at work is heard there; where nobody would come to look (a
 * sub-agent's own session, a session that nobody named, a response), or somebody has said stop, it is only noted.
 */
export function beginsRun(row: RunRow, { onOutcome }: Delivery, store: SessionStore): boolean {
  const { lineage, isStateless, directCall, after, echo, begunBy } = row.submission
  const final = store.final(row.order)
  if (onOutcome !== 'run' || !final || final.state === 'cancelled') return false
  if (lineage || isStateless || directCall || after || echo) return false
  return (begunBy?.depth ?? 0) < maxOutcomeRuns
}

export interface OutcomeRunParts {
  readonly store: SessionStore
  readonly runs: Runs
  readonly transcript: Transcript
  readonly runtime: Pick<SessionRuntime, 'mayBegin'>
  readonly admit: (request: SubmitRequest) => Promise<{ readonly live: LiveRun | undefined }>
}

/** What passes: the outcome comes again, and its run is tried again. */
const passing: ReadonlySet<string> = new Set(['request_unavailable', 'request_queue_full'])

/**
 * Begins the run of an outcome that was taken, once, however often it is delivered: its key follows from the call. It
 * reserves what it may spend as any run does; if it is refused, the outcome is a note for the next one.
 */
export async function beginByOutcome(
  { parentRun, call, session }: Delivery,
  parts: OutcomeRunParts,
): Promise<void> {
  const { store, runs, transcript, runtime, admit } = parts
  const row = store.findRun(parentRun)
  const item = row && itemOf(row, call)
  if (!row || !item?.begins) return
  try {
    if (!(await runtime.mayBegin(row.submission)))
      throw new IsolaError('request_forbidden', 'Whoever asked for it may not any more.')
    const { live } = await admit(toRequest(row, { item, call, session, store }))
    await live?.accepted
  } catch (error) {
    const code = errorCode(error)
    if (code === undefined || passing.has(code)) throw error
    // It is there: only what is left of its limits was another amount then.
    if (code === 'request_idempotency_mismatch') return
    const now = store.findRun(parentRun)
    if (!now) throw error
    runs.change(now, { inbox: (now.inbox ?? []).map((one) => noteOf(one, call)) })
    transcript.forget()
  }
}

const itemOf = ({ inbox = [] }: RunRow, call: string): InboxItem | undefined =>
  inbox.find((item) => item.call === call)

function noteOf(item: InboxItem, call: string): InboxItem {
  if (item.call !== call) return item
  const { begins: _refused, ...note } = item
  return note
}

interface From {
  readonly item: InboxItem
  readonly call: string
  readonly session: string
  readonly store: SessionStore
}

/** As the run that started the work was asked for, within what that has left of its own limits. */
function toRequest(row: RunRow, { item, call, session, store }: From): SubmitRequest {
  const { messages: _said, pauses, clientTools, mayAsk, limits, begunBy, ...kept } = row.submission
  return {
    ...kept,
    // A client that answers its tools in the same connection is not there.
    ...(pauses === 'park' && { pauses, ...(clientTools && { clientTools }) }),
    ...(pauses === 'park' && mayAsk && { mayAsk }),
    ...(limits && { limits: leftBy(row, onlyLimited(limits), store) }),
    messages: [item.message],
    idempotencyKey: `outcome:${row.id}:${call}`,
    begunBy: { run: row.id, call, session, depth: (begunBy?.depth ?? 0) + 1 },
  }
}
