import type { AuditOwner, AuditSink, Counted, SessionCard } from '../types/audit-sink.ts'
import type { Clock } from '#contracts/sources.ts'
import { pagesAfter } from '../log/log-view.ts'
import { forRecord, type createEventNotes } from './event-notes.ts'
import type { SessionStore } from '../storage/store.ts'
import type { SessionRow } from '../storage/stored-rows.ts'

/** Runs that end close together share a batch. */
const gatherMs = 1_000
const maxBatch = 200

/**
 * Carries the log to the audit sink, off the answer's path, and with each batch how the session stands. The watermark
 * is what the sink has (-1: not even that there is a session): a batch that arrives twice lands once, so nothing is
 * stored here and nothing is lost.
 */
export interface AuditOutbox {
  /** Something was written; carry it soon. */
  readonly nudge: () => void
  /** Carries everything; resolves to false when the sink could not be reached. */
  readonly flush: () => Promise<boolean>
  readonly isEmpty: () => boolean
  /** The session is on the list, as far as it is known here: one with a run before its last is. */
  readonly isListed: () => boolean
  /** The session is new: the sink has nothing of it. */
  readonly begin: () => void
  /** Takes the session off the list, before it is deleted. Rejects if the sink could not be reached. */
  readonly unlist: () => Promise<void>
}

export interface OutboxOptions {
  readonly store: SessionStore
  readonly sink: AuditSink
  readonly clock: Clock
  readonly cardOf: (session: SessionRow) => SessionCard
  /** No run is live. */
  readonly isIdle: () => boolean
  /** Has the sink take them, and notes who is to be told of them. */
  readonly note: ReturnType<typeof createEventNotes>
  /** What the database was made to do. */
  readonly counted?: Counted
  /** All that a nudge was for was carried, or could not be. */
  readonly onCarried: () => Promise<void> | void
}

const ownerOf = ({ id, principal, createdAtMs }: SessionRow): AuditOwner => ({
  session: id,
  principal,
  sinceMs: createdAtMs,
})

export function createAuditOutbox(options: OutboxOptions): AuditOutbox {
  const { store, sink, clock, cardOf, isIdle, onCarried, counted, note } = options
  let sent: number | undefined
  let flushing: Promise<boolean> | undefined
  let isNudged = false

  const carry = async (): Promise<boolean> => {
    try {
      const session = store.session()
      if (!session) return true
      const owner = ownerOf(session)
      const card = () => cardOf(store.session() ?? session)
      sent ??= await sink.watermark(owner, counted)
      while (sent < store.lastSeq()) {
        const before: number = sent
        for (const events of pagesAfter(store, sent, maxBatch)) {
          const batch = { events: events.map(forRecord), card: card() }
          await note(events, (unheard) =>
            sink.append(owner, { ...batch, ...(unheard && { unheard }) }, counted),
          )
          sent = events.at(-1)?.seq ?? sent
        }
        if (sent !== before) continue
        if (sent >= 0) return true
        await sink.append(owner, { events: [], card: card() }, counted) // it was only made
        sent = 0
      }
      return true
    } catch {
      return false // stays in the log; the recovery job comes back for it
    }
  }
  const flush = () => (flushing ??= carry().finally(() => (flushing = undefined)))

  return {
    flush,
    begin: () => void (sent ??= -1),
    async unlist() {
      const session = store.session()
      if (session) await sink.unlist(ownerOf(session))
    },
    isEmpty: () => sent !== undefined && sent >= store.lastSeq(),
    isListed: () => (sent === undefined ? store.lastOrder() > 1 : sent >= 0),
    nudge() {
      if (isNudged) return
      isNudged = true
      clock
        .sleep(gatherMs)
        .then(() => {
          isNudged = false
          // One that has begun meanwhile nudges at its end, or the recovery job carries it as it stands.
          return isIdle() ? flush().then(onCarried) : undefined
        })
        .catch(() => (isNudged = false)) // the recovery job comes for it
    },
  }
}
