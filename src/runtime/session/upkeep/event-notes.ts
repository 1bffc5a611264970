import { defined } from '#contracts/defined.ts'
import type { Counted } from '../types/audit-sink.ts'
import { ownEvents } from '#contracts/event-bus.ts'
import { type Emitted, type EventBus } from '../types/event-bus.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import { labelFrom } from '#contracts/label.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Todo } from '../storage/todo.ts'

export interface EventNotesOptions {
  readonly bus: EventBus | undefined
  readonly store: Pick<SessionStore, 'session' | 'findRun'>
  readonly todo: Pick<Todo, 'addTells'>
  /** Events were noted: they are to be carried to subscribers. */
  readonly onNoted: () => void
  /** Counts the rows of the database. */
  readonly counted?: Counted
}

/**
 * Carries a stretch of the log to the audit record, and notes its subscribers. Mostly there are none: one call appends the
 * events on the condition that no subscriber wants them. If one does, the call appends nothing; the subscribers are noted
 * first, and then the events are appended. The record's watermark covers both, so a crash between notes them again.
 * Rejects when the subscriptions cannot be read.
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

/** The payload of an event: numbers and words of ours, no text of a conversation. The caller tells the end of a sub-agent's run. */
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
