import { createParser } from 'eventsource-parser'
import { createLineFeeds } from '#contracts/foreign-json.ts'
import { isObject, parsed } from './said-json.ts'

/** One server-sent event. */
export interface StreamEvent {
  /** The event's own type; empty if it has none. */
  readonly type: string
  readonly data: string
}

export interface EventDecoder {
  /** The events that these bytes complete, in order. */
  readonly push: (bytes: Uint8Array) => readonly StreamEvent[]
  /** The event that was begun when the stream ended. By the specification it is none; servers forget its last line end. */
  readonly end: () => readonly StreamEvent[]
}

/** The most characters of JSON that stands in a stream without an event: it is an error, and errors are short. */
const maxBareChars = 64_000
/** How often a stream may try to end one. */
const maxBareTries = 50

/**
 * Reads server-sent events however their bytes are cut. A JSON object that stands in the stream without `data:` in front
 * of it, as some gateways say an error, is an event too. Holds what is not complete yet: its caller limits that.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function createEventDecoder(): EventDecoder {
  // Takes the byte order mark away, once.
  const decoder = new TextDecoder()
  const toLineFeeds = createLineFeeds()
  let events: StreamEvent[] = []
  let bare = ''
  let bareTries = 0

  function addBare(line: string): void {
    if (bareTries > maxBareTries || (bare === '' && !line.startsWith('{'))) return
    bare += `${line}\n`
    if (bare.length > maxBareChars) bare = ''
    if (!line.endsWith('}')) return
    bareTries += 1
    if (!isObject(parsed(bare))) return
    events.push({ type: '', data: bare })
    bare = ''
  }

  const parser = createParser({
    onEvent: ({ event = '', data }) => void events.push({ type: event, data }),
    onError: ({ line = '' }) => addBare(line),
  })
  function read(text: string): readonly StreamEvent[] {
    parser.feed(toLineFeeds(text))
    const completed = events
    events = []
    return completed
  }

  return {
    push: (bytes) => read(decoder.decode(bytes, { stream: true })),
    end: () => read(`${decoder.decode()}\n\n`),
  }
}
