import type { AuditSink } from '#contracts/session.ts'
import type { Clock } from '#contracts/sources.ts'
import { eventsAfter } from './log-view.ts'
import type { SessionStore } from './store.ts'

/** Runs that end close together share a batch. */
const gatherMs = 1_000
const maxBatch = 200

/**
 * Carries the log to the audit sink, off the answer's path. The watermark is what the sink has: a batch that
 * arrives twice lands once, so nothing is stored here and nothing is lost.
 */
export interface AuditOutbox {
  /** Something was written; carry it soon. */
  readonly nudge: () => void
  /** Carries everything; resolves to false when the sink could not be reached. */
  readonly flush: () => Promise<boolean>
  readonly isEmpty: () => boolean
  /** The session is new: the sink has nothing of it. */
  readonly begin: () => void
}

export interface OutboxOptions {
  readonly store: SessionStore
  readonly sink: AuditSink
  readonly clock: Clock
}

export function createAuditOutbox({ store, sink, clock }: OutboxOptions): AuditOutbox {
  let sent: number | undefined
  let flushing: Promise<boolean> | undefined
  let isNudged = false

  const carry = async (): Promise<boolean> => {
    const session = store.session()
    if (!session) return true
    const owner = {
      session: session.id,
      principal: session.principal,
      sinceMs: session.createdAtMs,
    }
    try {
      sent ??= await sink.watermark(owner)
      while (sent < store.lastSeq()) {
        const batch = eventsAfter(store, sent, 'bare').slice(0, maxBatch)
        const last = batch.at(-1)
        if (!last) return true
        await sink.append(owner, batch)
        sent = last.seq
      }
      return true
    } catch {
      return false // stays in the log; the recovery job comes back for it
    }
  }
  const flush = () => (flushing ??= carry().finally(() => (flushing = undefined)))

  return {
    flush,
    begin: () => void (sent ??= 0),
    isEmpty: () => sent !== undefined && sent >= store.lastSeq(),
    nudge() {
      if (isNudged) return
      isNudged = true
      void clock.sleep(gatherMs).then(() => {
        isNudged = false
        return flush()
      })
    },
  }
}
