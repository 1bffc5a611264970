import { defined } from '#contracts/defined.ts'
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
 * Carries the log to the audit sink, off the answer's path, and with each batch the card of the session. The watermark
 * is the last event that the sink has (-1: it does not know the session). A batch that arrives twice lands once, so the
 * outbox stores nothing and loses nothing.
 */
export interface AuditOutbox {
  /** Carries new events soon. @param onCarried Called when that was done, or could not be. */
  readonly nudge: (onCarried: () => Promise<void>) => void
  /** Carries everything; resolves to false when the sink could not be reached. */
  readonly flush: () => Promise<boolean>
  readonly isEmpty: () => boolean
  /** Whether the list of sessions has the session; assumed for a session with a run before its last. */
  readonly isListed: () => boolean
  /** The session is new: the sink does not know it. */
  readonly begin: () => void
  /** Takes the session off the list, before it is deleted. Rejects if the sink could not be reached. */
  readonly unlist: () => Promise<void>
}

export interface OutboxOptions {
  readonly store: SessionStore
  readonly sink: AuditSink
  readonly clock: Clock
  readonly cardOf: (session: SessionRow) => SessionCard
  readonly live: { readonly isIdle: () => boolean }
  /** Sends events to the sink, and notes the subscribers that get them. */
  readonly note: ReturnType<typeof createEventNotes>
  /** Counts the rows of the database. */
  readonly counted?: Counted
}

const ownerOf = ({ id, principal, createdAtMs }: SessionRow): AuditOwner => ({
  session: id,
  principal,
  sinceMs: createdAtMs,
})

export function createAuditOutbox(options: OutboxOptions): AuditOutbox {
  const { store, sink, clock, cardOf, live, counted, note } = options
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
            sink.append(owner, { ...batch, ...defined({ unheard }) }, counted),
          )
          sent = events.at(-1)?.seq ?? sent
        }
        if (sent !== before) continue
        if (sent >= 0) return true
        await sink.append(owner, { events: [], card: card() }, counted) // a session without a run
        sent = 0
      }
      return true
    } catch {
      return false // the events stay in the log; the recovery job comes back
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
    nudge(onCarried) {
      if (isNudged) return
      isNudged = true
      clock
        .sleep(gatherMs)
        .then(() => {
          isNudged = false
          // A run that has begun meanwhile nudges at its end, or the recovery job carries its events.
          return live.isIdle() ? flush().then(onCarried) : undefined
        })
        .catch(() => (isNudged = false)) // the recovery job comes
    },
  }
}
