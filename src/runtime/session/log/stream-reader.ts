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
  /** It began the run, and needs not be told that it has. */
  readonly isBeginner?: boolean
  /** Some of what is in the log behind one place, up to another, in order; none only if there is none. */
  readonly read: (after: number, upTo: number) => readonly ToldEvent[]
  /** What is in the log up to here is durable, and is told first; 0 if there is nothing for this reader yet. */
  readonly upTo: number
}

/** What a reader needs of the hub that it listens to. */
export interface ReaderHub {
  /** The last place of the log that is known to be durable. */
  readonly durable: () => number
  /** What was said so far of a message that is not finished. */
  readonly partial: () => Omit<MessageDelta, 'type' | 'offset'> | undefined
  /** Lets others have the object, between two pages of the log. */
  readonly pause: () => Promise<void>
  readonly forget: (reader: LiveReader) => void
}

export interface LiveReader {
  readonly id: string | undefined
  readonly run: string | undefined
  readonly send: (item: StreamItem) => void
  readonly rest: () => void
  readonly end: () => void
  readonly stream: ReadableStream<Uint8Array>
}

const encoder = new TextEncoder()

/** Tells one reader the log first and then what happens, at its own pace. */
export function createLiveReader(
  { id, afterSeq, run, read, upTo, isBeginner = false }: Omit<Reader, 'follow'>,
  hub: ReaderHub,
): LiveReader {
  let seq = afterSeq
  /** There may be something in the log that it has not been told. */
  let isBehind = upTo > afterSeq
  /** A page of the log was told last. */
  let hasRead = false
  let isEnding = false
  /** What is durable when it ends: no more of the log is told. */
  let last = Number.MAX_SAFE_INTEGER
  let behindBytes = 0
  let wake = () => {}
  /** What is not read yet: made into bytes only when somebody reads it. */
  const queue: StreamItem[] = []
  let events = 0
  const send = (item: StreamItem): void => {
    if (isEnding || (run !== undefined && item.run !== run)) return
    if ('seq' in item) {
      if (item.seq <= seq) return
      // Whoever began the run is told so by its receipt: each line that says nothing new is a hop.
      if (isBeginner && item.type === 'run_started' && !isBehind) {
        seq = item.seq
        return
      }
      isBehind ||= events >= maxWaiting
      if (isBehind) return wake()
      seq = item.seq
      events += 1
      // What is said in pieces comes again whole.
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
  /** The next stretch of the log; where it ends, the reader is up with what happens. */
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
  const stream: ReadableStream<Uint8Array> = new ReadableStream({
    type: 'bytes',
    async pull(controller) {
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
  const entry: LiveReader = { id, run, send, rest: () => run === undefined && end(), end, stream }
  const partial = hub.partial()
  if (!isBehind && partial) send({ type: 'message_delta', ...partial, offset: 0 })
  return entry
}

const lineOf = (item: StreamItem): string => `${JSON.stringify(item)}\n`

export const isLast = (item: StreamItem, run: string | undefined): boolean =>
  item.type === 'run_finished' && item.run === run
