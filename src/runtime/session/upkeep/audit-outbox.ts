import { defined } from '#contracts/defined.ts'
import type {
  Counted,
  Emitted,
  EventBus,
  AuditOwner,
  AuditSink,
  SessionCard,
} from '../types/audit-sink.ts'
import { ownEvents } from '#contracts/event-bus.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import { labelFrom } from '#contracts/label.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Todo } from '../storage/todo.ts'
import type { Clock } from '#contracts/sources.ts'
import { pagesAfter } from '../log/log-view.ts'
import type { SessionRow } from '../storage/stored-rows.ts'

interface EventNotesOptions {
  readonly bus: EventBus | undefined
  readonly store: Pick<SessionStore, 'session' | 'findRun'>
  readonly todo: Pick<Todo, 'addTells'>
  /** Events were noted: they are to be carried to subscribers. */
  readonly onNoted: () => void
  /** Counts the rows of the database. */
  readonly counted?: Counted
}

/**
 * Carries a stretch of the log to the audit record, and notes its subscribers. Mostly there are none: one call
 * appends the events on the condition that no subscriber wants them. If one does, the call appends nothing; the
 * subscribers are noted first, and then the events are appended. The record's watermark covers both, so a crash
 * between notes them again. Rejects when the subscriptions cannot be read.
 */
export function createEventNotes({ bus, store, todo, onNoted, counted }: EventNotesOptions) {
  return async (
    events: readonly SessionEvent[],
    append: (unheard?: readonly Emitted[]) => Promise<void>,
  ): Promise<void> => {
    const emitted = new Map(events.flatMap((event) => pairOf(event, store)))
    if (!bus || emitted.size === 0) return append()
    const all = [...emitted.values()]
    // The reason of a refusal does not matter: events that the record has already land once.
    const isUnheard = await append(all).then(
      () => true,
      () => false,
    )
    if (isUnheard) return
    const owners = await bus.ownersOf(all, counted)
    for (const [seq, event] of emitted) {
      const told = owners.get(event.id) ?? []
      if (told.length > 0) todo.addTells({ owners: told, seq, event })
    }
    if (owners.size > 0) onNoted()
    await append()
  }
}

type Store = EventNotesOptions['store']

const pairOf = (event: SessionEvent, store: Store): readonly (readonly [number, Emitted])[] => {
  const session = store.session()
  const said = session && saidIn(event, session.lineage !== undefined)
  if (!said) return []
  const { seq, run, agent, trace, atMs } = event
  const chain = store.findRun(run)?.submission.chain
  const { id, principal } = session
  const place = { id: `${id}:${seq}`, session: id, principal, run, agent, trace, atMs }
  return [[seq, { ...place, ...said, ...defined({ chain }) }]]
}

type Said = Pick<Emitted, 'name' | 'payload' | 'label' | 'isPublic'>

/**
 * The payload of an event: numbers and words of ours, no text of a conversation. The caller tells the end of a
 * sub-agent's run.
 */
function saidIn(event: SessionEvent, isChild: boolean): Said | undefined {
  if (event.type === 'event_emitted') {
    const { event: name, payload = {}, label, isPublic } = event.data
    return { name, payload, label, ...(isPublic && { isPublic }) }
  }
  const payload = isChild && !event.type.startsWith('agent_') ? undefined : shownOf(event)
  const name = `isola.${event.type}`
  return payload && { name, payload, label: labelFrom(name, { integrity: 'data' }) }
}

/** The public fields of an event; `undefined` for an event without subscriptions. */
function shownOf({ type, data }: SessionEvent): JsonObject | undefined {
  if (type === 'run_parked')
    return { pauses: data.pauses.map((one) => picked(one, ['call', 'tool', 'kind'])) }
  return Object.hasOwn(ownEvents, type)
    ? picked(data, ownEvents[type as keyof typeof ownEvents])
    : undefined
}

/** These fields are JSON, as their kinds of events say. */
const picked = (data: object, fields: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(data).filter(([field]) => fields.includes(field)))

/** The record has that an event was emitted, without its payload: the payload is deleted with its session. */
export const forRecord = (event: SessionEvent): SessionEvent => {
  if (event.type !== 'event_emitted') return event
  const { payload: _, ...data } = event.data
  return { ...event, data }
}

/** Runs that end close together share a batch. */
const gatherMs = 1_000
const maxBatch = 200

/**
 * Carries the log to the audit sink, off the answer's path, and with each batch the card of the session. The watermark
 * is the last event that the sink has (-1: it does not know the session). A batch that arrives twice lands once, so the
 * outbox stores nothing and loses nothing.
 */
export type AuditOutbox = ReturnType<typeof createAuditOutbox>

interface OutboxOptions {
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

export function createAuditOutbox(options: OutboxOptions) {
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
    /** Carries everything; resolves to false when the sink could not be reached. */
    flush,
    /** The session is new: the sink does not know it. */
    begin: () => void (sent ??= -1),
    /** Takes the session off the list, before it is deleted. Rejects if the sink could not be reached. */
    unlist: async () => {
      const session = store.session()
      if (session) await sink.unlist(ownerOf(session))
    },
    isEmpty: () => sent !== undefined && sent >= store.lastSeq(),
    /** Whether the list of sessions has the session; assumed for a session with a run before its last. */
    isListed: () => (sent === undefined ? store.lastOrder() > 1 : sent >= 0),
    /** Carries new events soon. @param onCarried Called when that was done, or could not be. */
    nudge: (onCarried: () => Promise<void>) => {
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
