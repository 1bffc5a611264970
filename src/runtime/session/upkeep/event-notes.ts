import type { Counted } from '../types/audit-sink.ts'
import { ownEvents, type Emitted, type EventBus } from '#contracts/event-bus.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import { labelFrom } from '#contracts/label.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Todo } from '../storage/todo.ts'

export interface EventNotesOptions {
  readonly bus: EventBus | undefined
  readonly store: Pick<SessionStore, 'session' | 'findRun'>
  readonly todo: Pick<Todo, 'addTells'>
  /** There is something to carry. */
  readonly onNoted: () => void
  /** What the database was made to do. */
  readonly counted?: Counted
}

/**
 * Takes a stretch of the log to the record, with who is to be told of it. Mostly nobody is: the record is asked that in
 * the same go, and takes nothing if somebody is. Then it is noted who, before the record has it: its watermark is that
 * of the events, too, so that a crash in between notes them again, and nobody is told of one that is not in the log.
 * Rejects where it cannot be looked up who subscribes.
 */
export function createEventNotes({ bus, store, todo, onNoted, counted }: EventNotesOptions) {
  return async (
    events: readonly SessionEvent[],
    append: (unheard?: readonly Emitted[]) => Promise<void>,
  ): Promise<void> => {
    const emitted = new Map(events.flatMap((event) => pairOf(event, store)))
    if (!bus || emitted.size === 0) return append()
    const all = [...emitted.values()]
    // Why it did not land is all the same: what was there already lands once.
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
  return [[seq, { ...place, ...said, ...(chain && { chain }) }]]
}

type Said = Pick<Emitted, 'name' | 'payload' | 'label' | 'isPublic'>

/** Of what is ours: numbers and words of our own, nothing that somebody said. What becomes of a sub-agent's run says its caller. */
function saidIn(event: SessionEvent, isChild: boolean): Said | undefined {
  if (event.type === 'event_emitted') {
    const { event: name, payload = {}, label, isPublic } = event.data
    return { name, payload, label, ...(isPublic && { isPublic }) }
  }
  const payload = isChild && !event.type.startsWith('agent_') ? undefined : shownOf(event)
  const name = `isola.${event.type}`
  return payload && { name, payload, label: labelFrom(name, { integrity: 'data' }) }
}

/** What an event of ours says of itself; nothing of one that nobody may subscribe to. */
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

/** The record tells that something was emitted, not what: that goes with its session. */
export const forRecord = (event: SessionEvent): SessionEvent => {
  if (event.type !== 'event_emitted') return event
  const { payload: _, ...data } = event.data
  return { ...event, data }
}
