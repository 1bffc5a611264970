import type { MessageDelta, StreamItem, ToldEvent } from '#contracts/event.ts'

/** A reader that is further behind gets no pieces of text, only finished messages. */
const maxBehindBytes = 4 * 1_048_576

/** Events that wait for a reader; a reader that is further behind reads on in the log. */
const maxWaiting = 64
const maxPieceChars = 65_536

export interface Reader {
  /** For `detach`. */
  readonly id?: string
  readonly afterSeq: number
  readonly run?: string
  /** Ends after this run's terminal event, or at once when nothing more will come. */
  readonly follow: boolean
  /** The reader began the run, and needs no `run_started`. */
  readonly isBeginner?: boolean
  /** Some events between two places of the log, in order; empty only if there are none. */
  readonly read: (after: number, upTo: number) => readonly ToldEvent[]
  /** The durable end of the log, which the reader gets first; 0 if the log has nothing for this reader yet. */
  readonly upTo: number
}

/** The part of the hub that a reader needs. */
interface ReaderHub {
  /** The last place of the log that is known to be durable. */
  readonly durable: () => number
  /** The text so far of a message that is not finished. */
  readonly partial: () => Omit<MessageDelta, 'type' | 'offset'> | undefined
  /** Lets other requests have the object, between two pages of the log. */
  readonly pause: () => Promise<void>
  readonly forget: (reader: LiveReader) => void
}

interface LiveReader {
  readonly id: string | undefined
  readonly run: string | undefined
  readonly send: (item: StreamItem) => void
  /** Whether the event is for this reader, or moves it on to the log or to its end. */
  readonly needs: (event: ToldEvent) => boolean
  readonly rest: () => void
  readonly end: () => void
  readonly stream: ReadableStream<Uint8Array>
}

const encoder = new TextEncoder()

/** Gives one reader first the log, and then live events, at the reader's pace. */
function createLiveReader(
  { id, afterSeq, run, read, upTo, isBeginner = false }: Omit<Reader, 'follow'>,
  hub: ReaderHub,
): LiveReader {
  let seq = afterSeq
  /** The log may have events that the reader has not got. */
  let isBehind = upTo > afterSeq
  /** The last piece was a page of the log. */
  let hasRead = false
  let isEnding = false
  /** The durable end of the log when the reader ends: it gets no later events. */
  let last = Number.MAX_SAFE_INTEGER
  let behindBytes = 0
  let wake = () => {}
  /** Items that are not read yet: encoded only when they are read. */
  const queue: StreamItem[] = []
  let events = 0
  const isOfAnother = (item: StreamItem) => run !== undefined && item.run !== run
  // The receipt already gave the run's beginner this event, and each needless line costs a hop.
  const isTold = (item: StreamItem) => isBeginner && item.type === 'run_started' && !isBehind
  const send = (item: StreamItem): void => {
    if (isEnding || isOfAnother(item)) return
    if ('seq' in item) {
      if (item.seq <= seq) return
      if (isTold(item)) {
        seq = item.seq
        return
      }
      isBehind ||= events >= maxWaiting
      if (isBehind) return wake()
      seq = item.seq
      events += 1
      // The finished message repeats the pieces of text.
    } else if (isBehind || behindBytes > maxBehindBytes) return
    else behindBytes += item.text.length
    queue.push(item)
    wake()
  }
  const end = () => {
    last = Math.min(last, hub.durable())
    isEnding = true
    hub.forget(entry)
    wake()
  }
  /** The next page of the log; at its end the reader is up to date. */
  const readOn = (): readonly StreamItem[] => {
    const page = read(seq, Math.min(last, hub.durable()))
    seq = page.at(-1)?.seq ?? seq
    hasRead = page.length > 0
    if (page.some((event) => isLast(event, run))) end()
    if (page.length > 0) return page
    isBehind = false
    const partial = hub.partial()
    return partial && !isEnding && (run ?? partial.run) === partial.run
      ? [{ type: 'message_delta', ...partial, offset: 0 }]
      : []
  }
  /** Items that came while the last piece was on its way go together: each piece costs a hop. */
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
  const stream: ReadableStream<Uint8Array> = new ReadableStream({
    type: 'bytes',
    pull: async (controller) => {
      for (;;) {
        if (isBehind && hasRead) await hub.pause()
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
  const needs = (event: ToldEvent) => !isOfAnother(event) && !isTold(event)
  const rest = () => run === undefined && end()
  const entry: LiveReader = { id, run, send, needs, rest, end, stream }
  const partial = hub.partial()
  if (!isBehind && partial) send({ type: 'message_delta', ...partial, offset: 0 })
  return entry
}

const lineOf = (item: StreamItem): string => `${JSON.stringify(item)}\n`

const isLast = (item: StreamItem, run: string | undefined): boolean =>
  item.type === 'run_finished' && item.run === run

/**
 * Gives the log to live readers, one JSON item a line. An event leaves only after its row is durable; a delta leaves at
 * once, but never before an earlier event. A reader takes the log at its own pace: a reader that is more than a few
 * events behind reads them from the log again.
 */
export type StreamHub = ReturnType<typeof createStreamHub>

/** @param pause Lets other requests have the object, between two pages of the log. */
export function createStreamHub(
  sync: () => Promise<void>,
  pause: () => Promise<void> = () => Promise.resolve(),
) {
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
    /** Whether a reader follows this run; without a run, whether there is any reader. */
    hasReaders: (run?: string) =>
      run === undefined
        ? readers.size > 0
        : [...readers].some((reader) => reader.run === undefined || reader.run === run),
    /** No run is live: ends the readers that follow the whole session. */
    rest: () => later(() => readers.forEach((reader) => reader.rest()), false),
    publish: (events: readonly ToldEvent[]) => {
      if (events.length === 0) return
      partial = undefined
      const isNeeded = events.some((event) => [...readers].some(({ needs }) => needs(event)))
      // A later reader reads the durable log. A beginner's text does not wait for the row of its run: the answer that
      // carries the stream does, at the object's output gate.
      if (!isNeeded && waiting === 0) return events.forEach(broadcast)
      later(() => {
        durable = Math.max(durable, ...events.map(({ seq }) => seq))
        events.forEach(broadcast)
      }, true)
    },
    delta: (delta: MessageDelta) => {
      partial =
        partial?.run === delta.run && partial.turn === delta.turn
          ? { ...partial, text: partial.text + delta.text }
          : { run: delta.run, turn: delta.turn, text: delta.text }
      if (waiting === 0) broadcast(delta)
      else later(() => broadcast(delta), false)
    },
    /** Ends a reader. */
    detach: (id: string) => {
      for (const reader of readers) if (reader.id === id) reader.end()
    },
    attach: ({ follow, ...reader }: Reader) => {
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
