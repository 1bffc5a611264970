import type { MessageDelta, StreamItem, ToldEvent } from '#contracts/event.ts'

/** A reader that is this far behind gets no more pieces of text; finished messages it does get. */
const maxBehindBytes = 4 * 1_048_576

const maxPieceChars = 65_536

export interface Reader {
  /** For `detach`. */
  readonly id?: string
  readonly afterSeq: number
  readonly run?: string
  /** Ends after this run's terminal event, or at once when nothing more will come. */
  readonly follow: boolean
  /** What is in the log already. */
  readonly backlog: readonly ToldEvent[]
}

/**
 * Hands the log to live readers, one JSON item a line. An event leaves only after its row is durable; a delta
 * leaves at once, but never overtakes an event that happened before it.
 */
export interface StreamHub {
  readonly publish: (events: readonly ToldEvent[]) => void
  readonly delta: (delta: MessageDelta) => void
  /** Nothing runs any more: ends the readers that follow no run in particular. */
  readonly rest: () => void
  /** Whether anybody follows this run, or anything at all. */
  readonly hasReaders: (run?: string) => boolean
  /** Forgets a reader that has gone. */
  readonly detach: (id: string) => void
  readonly attach: (reader: Reader) => ReadableStream<Uint8Array>
}

export function createStreamHub(sync: () => Promise<void>): StreamHub {
  const encoder = new TextEncoder()
  const readers = new Set<{
    readonly id: string | undefined
    readonly run: string | undefined
    readonly send: (item: StreamItem) => void
    readonly rest: () => void
    readonly end: () => void
  }>()
  let waiting = 0
  let chain = Promise.resolve()
  let partial: { run: string; turn: number; text: string } | undefined

  const broadcast = (item: StreamItem) => {
    for (const reader of readers) {
      reader.send(item)
      // A parked run may wait for days: who follows it comes back with the cursor.
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
      // Not durable, so not told: who reads comes back with the cursor.
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
      if (readers.size === 0 && waiting === 0) return // whoever comes later reads what is durable
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
    detach(id) {
      for (const reader of readers) if (reader.id === id) reader.end()
    },
    attach({ id, afterSeq, run, follow, backlog }) {
      let seq = afterSeq
      let isEnding = false
      let behindBytes = 0
      let wake = () => {}
      /** What is not read yet: the log first, made into bytes only when somebody reads it. */
      const queue: StreamItem[] = []
      const entry = {
        id,
        run,
        send: (item: StreamItem): void => {
          if (isEnding || (run !== undefined && item.run !== run)) return
          if ('seq' in item) {
            if (item.seq <= seq) return
            seq = item.seq
          } else if (behindBytes > maxBehindBytes) return // what is said in pieces comes again whole
          else behindBytes += item.text.length
          queue.push(item)
          wake()
        },
        rest: () => run === undefined && end(),
        end: () => end(),
      }
      const end = () => {
        isEnding = true
        readers.delete(entry)
        wake()
      }
      readers.add(entry)
      for (const event of backlog) entry.send(event)
      if (backlog.some((event) => isLast(event, run))) end()
      if (partial) entry.send({ type: 'message_delta', ...partial, offset: 0 })
      if (!follow) end()
      return new ReadableStream({
        type: 'bytes',
        async pull(controller) {
          while (queue.length === 0 && !isEnding) {
            await new Promise<void>((resolve) => (wake = resolve))
          }
          // What came while the last piece was on its way goes as one: each costs a hop.
          let lines = ''
          while (queue.length > 0 && lines.length < maxPieceChars) {
            const item = queue.shift()!
            if (!('seq' in item)) behindBytes -= item.text.length
            lines += `${JSON.stringify(item)}\n`
          }
          if (lines !== '') return controller.enqueue(encoder.encode(lines))
          controller.close()
          controller.byobRequest?.respond(0)
        },
        cancel: end,
      })
    },
  }
}

const isLast = (item: StreamItem, run: string | undefined): boolean =>
  item.type === 'run_finished' && item.run === run
