import type { MessageDelta, SessionEvent, StreamItem } from '#contracts/event.ts'

/** A reader that is this far behind is dropped; it comes back with its cursor. */
const maxBehindBytes = 4 * 1_048_576

export interface Reader {
  readonly afterSeq: number
  readonly run?: string
  /** Ends after this run's terminal event, or at once when nothing more will come. */
  readonly follow: boolean
  /** What is in the log already. */
  readonly backlog: readonly SessionEvent[]
}

/**
 * Hands the log to live readers, one JSON item a line. An event leaves only after its row is durable; a delta
 * leaves at once, but never overtakes an event that happened before it.
 */
export interface StreamHub {
  readonly publish: (events: readonly SessionEvent[]) => void
  readonly delta: (delta: MessageDelta) => void
  /** Nothing runs any more: ends the readers that follow no run in particular. */
  readonly rest: () => void
  readonly hasReaders: () => boolean
  readonly attach: (reader: Reader) => ReadableStream<Uint8Array>
}

export function createStreamHub(sync: () => Promise<void>): StreamHub {
  const encoder = new TextEncoder()
  const readers = new Set<{
    readonly send: (item: StreamItem) => void
    readonly rest: () => void
  }>()
  let waiting = 0
  let chain = Promise.resolve()
  let partial: { run: string; turn: number; text: string } | undefined

  const broadcast = (item: StreamItem) => {
    for (const reader of readers) reader.send(item)
  }
  const later = (work: () => void, isDurable: boolean) => {
    waiting += 1
    chain = chain
      .then(() => (isDurable ? sync() : undefined))
      .then(work)
      .finally(() => (waiting -= 1))
  }

  return {
    hasReaders: () => readers.size > 0,
    rest: () => later(() => readers.forEach((reader) => reader.rest()), false),
    publish(events) {
      if (events.length === 0) return
      partial = undefined
      later(() => events.forEach(broadcast), true)
    },
    delta(delta) {
      partial =
        partial?.run === delta.run && partial.turn === delta.turn
          ? { ...partial, text: partial.text + delta.text }
          : { run: delta.run, turn: delta.turn, text: delta.text }
      if (waiting === 0) broadcast(delta)
      else later(() => broadcast(delta), false)
    },
    attach({ afterSeq, run, follow, backlog }) {
      let seq = afterSeq
      let detach = () => {}
      return new ReadableStream({
        type: 'bytes',
        start(controller) {
          let isOpen = true
          const close = () => {
            if (!isOpen) return
            isOpen = false
            detach()
            controller.close()
          }
          const send = (item: StreamItem) => {
            if (!isOpen || (run !== undefined && item.run !== run)) return
            if ('seq' in item) {
              if (item.seq <= seq) return
              seq = item.seq
            }
            controller.enqueue(encoder.encode(`${JSON.stringify(item)}\n`))
            if ((controller.desiredSize ?? 0) < -maxBehindBytes) {
              isOpen = false
              detach()
              controller.error(new Error('The reader is too slow; come back with the cursor.'))
            } else if (run !== undefined && item.type === 'run_finished') close()
          }
          const entry = { send, rest: () => run === undefined && close() }
          detach = () => void readers.delete(entry)
          readers.add(entry)
          backlog.forEach(send)
          if (partial && isOpen) send({ type: 'message_delta', ...partial, offset: 0 })
          if (!follow) close()
        },
        cancel: () => detach(),
      })
    },
  }
}
