import type { ToldEvent } from '#contracts/event.ts'
import type { Reader } from '../../src/runtime/session/log/stream-hub.ts'

/** A log with these events in it, all of them durable, that is read a few at a time. */
export function logOf(events: readonly ToldEvent[], perPage = 50): Pick<Reader, 'read' | 'upTo'> {
  return {
    upTo: events.at(-1)?.seq ?? 0,
    read: (after, upTo) => events.filter(({ seq }) => seq > after && seq <= upTo).slice(0, perPage),
  }
}
