import type { MessageDelta, StreamItem, ToldEvent } from '#contracts/event.ts'
import { createLiveReader, isLast, type LiveReader, type Reader } from './stream-reader.ts'

/**
 * Gives the log to live readers, one JSON item a line. An event leaves only after its row is durable; a delta leaves at
 * once, but never before an earlier event. A reader takes the log at its own pace: a reader that is more than a few events
 * behind reads them from the log again.
 */
export interface StreamHub {
  readonly publish: (events: readonly ToldEvent[]) => void
  readonly delta: (delta: MessageDelta) => void
  /** No run is live: ends the readers that follow the whole session. */
  readonly rest: () => void
  /** Whether a reader follows this run; without a run, whether there is any reader. */
  readonly hasReaders: (run?: string) => boolean
  /** Ends a reader. */
  readonly detach: (id: string) => void
  readonly attach: (reader: Reader) => ReadableStream<Uint8Array>
}

/** @param pause Lets other requests have the object, between two pages of the log. */
export function createStreamHub(
  sync: () => Promise<void>,
  pause: () => Promise<void> = () => Promise.resolve(),
): StreamHub {
  const readers = new Set<LiveReader>()
  let waiting = 0
  /** The last place of the log that is known to be durable. */
  let durable = 0
  let chain = Promise.resolve()
  let partial: { run: string; turn: number; text: string } | undefined

  const broadcast = (item: StreamItem) => {
    for (const reader of readers) {
      reader.send(item)
      // A parked run may wait for days: its reader comes back with the cursor.
      if (isLast(item, reader.run) || (item.type === 'run_parked' && item.run === reader.run)) {
        reader.end()
      }
    }
  }
  const later = (work: () => void, isDurable: boolean) => {
    waiting += 1
    chain = chain
      .then(() => (isDurable ? sync() : undefined))
      .then(work)
      // The event is not durable, so it is not sent: the reader comes back with its cursor.
      .catch(() => readers.forEach((reader) => reader.end()))
      .finally(() => (waiting -= 1))
  }

  return {
    hasReaders: (run) =>
      run === undefined
        ? readers.size > 0
        : [...readers].some((reader) => reader.run === undefined || reader.run === run),
    rest: () => later(() => readers.forEach((reader) => reader.rest()), false),
    publish(events) {
      if (events.length === 0) return
      partial = undefined
      if (readers.size === 0 && waiting === 0) return // a later reader reads the durable log
      later(() => {
        durable = Math.max(durable, ...events.map(({ seq }) => seq))
        events.forEach(broadcast)
      }, true)
    },
    delta(delta) {
      partial =
        partial?.run === delta.run && partial.turn === delta.turn
          ? { ...partial, text: partial.text + delta.text }
          : { run: delta.run, turn: delta.turn, text: delta.text }
      if (waiting === 0) broadcast(delta)
      else later(() => broadcast(delta), false)
    },
    detach(id) {
      for (const reader of readers) if (reader.id === id) reader.end()
    },
    attach({ follow, ...reader }) {
      durable = Math.max(durable, reader.upTo)
      const live = createLiveReader(reader, {
        durable: () => durable,
        partial: () => partial,
        pause,
        forget: (gone) => void readers.delete(gone),
      })
      readers.add(live)
      if (!follow) live.end()
      return live.stream
    },
  }
}
