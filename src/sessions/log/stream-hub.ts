import type { MessageDelta, StreamItem, ToldEvent } from '#contracts/event.ts'

/** A reader that is this far behind gets no more pieces of text; finished messages it does get. */
const maxBehindBytes = 4 * 1_048_576

/** Events that wait for a reader; who is further behind reads on in the log. */
const maxWaiting = 64
const maxPieceChars = 65_536

export interface Reader {
  /** For `detach`. */
  readonly id?: string
  readonly afterSeq: number
  readonly run?: string
  /** Ends after this run's terminal event, or at once when nothing more will come. */
  readonly follow: boolean
  /** Some of what is in the log behind one place, up to another, in order; none only if there is none. */
  readonly read: (after: number, upTo: number) => readonly ToldEvent[]
  /** What is in the log up to here is durable, and is told first; 0 if there is nothing for this reader yet. */
  readonly upTo: number
}

/**
 * Hands the log to live readers, one JSON item a line. An event leaves only after its row is durable; a delta
 * leaves at once, but never overtakes an event that happened before it. A reader takes the log at its own pace: what
 * is more than a few events ahead of it is read from the log again when it asks for it.
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
  /** The last place of the log that is known to be durable. */
  let durable = 0
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
    attach({ id, afterSeq, run, follow, read, upTo }) {
      durable = Math.max(durable, upTo)
      let seq = afterSeq
      /** There may be something in the log that it has not been told. */
      let isBehind = upTo > afterSeq
      let isEnding = false
      /** What is durable when it ends: no more of the log is told. */
      let last = Number.MAX_SAFE_INTEGER
      let behindBytes = 0
      let wake = () => {}
      /** What is not read yet: made into bytes only when somebody reads it. */
      const queue: StreamItem[] = []
      let events = 0
      const entry = {
        id,
        run,
        send: (item: StreamItem): void => {
          if (isEnding || (run !== undefined && item.run !== run)) return
          if ('seq' in item) {
            if (item.seq <= seq) return
            isBehind ||= events >= maxWaiting
            if (isBehind) return wake()
            seq = item.seq
            events += 1
            // What is said in pieces comes again whole.
          } else if (isBehind || behindBytes > maxBehindBytes) return
          else behindBytes += item.text.length
          queue.push(item)
          wake()
        },
        rest: () => run === undefined && end(),
        end: () => end(),
      }
      const end = () => {
        last = Math.min(last, durable)
        isEnding = true
        readers.delete(entry)
        wake()
      }
      /** The next stretch of the log; where it ends, the reader is up with what happens. */
      const readOn = (): readonly StreamItem[] => {
        const page = read(seq, Math.min(last, durable))
        seq = page.at(-1)?.seq ?? seq
        if (page.some((event) => isLast(event, run))) end()
        if (page.length > 0) return page
        isBehind = false
        return partial && !isEnding && (run ?? partial.run) === partial.run
          ? [{ type: 'message_delta', ...partial, offset: 0 }]
          : []
      }
      /** What came while the last piece was on its way goes as one: each costs a hop. */
      const nextLines = (): string => {
        let lines = ''
        while (queue.length > 0 && lines.length < maxPieceChars) {
          const item = queue.shift()!
          if ('seq' in item) events -= 1
          else behindBytes -= item.text.length
          lines += lineOf(item)
        }
        while (lines === '' && isBehind) lines = readOn().map(lineOf).join('')
        return lines
      }
      readers.add(entry)
      if (!isBehind && partial) entry.send({ type: 'message_delta', ...partial, offset: 0 })
      if (!follow) end()
      return new ReadableStream({
        type: 'bytes',
        async pull(controller) {
          for (;;) {
            const lines = nextLines()
            if (lines !== '') return controller.enqueue(encoder.encode(lines))
            if (isEnding) break
            await new Promise<void>((resolve) => (wake = resolve))
          }
          controller.close()
          controller.byobRequest?.respond(0)
        },
        cancel: end,
      })
    },
  }
}

const lineOf = (item: StreamItem): string => `${JSON.stringify(item)}\n`

const isLast = (item: StreamItem, run: string | undefined): boolean =>
  item.type === 'run_finished' && item.run === run
