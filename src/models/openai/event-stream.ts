/** One server-sent event. */
export interface StreamEvent {
  /** What it calls itself; empty if it does not. */
  readonly type: string
  readonly data: string
}

export interface EventDecoder {
  /** The events that these bytes complete, in order. */
  readonly push: (bytes: Uint8Array) => readonly StreamEvent[]
  /** The event that was begun when the stream ended. By the specification it is none; servers forget its last line end. */
  readonly end: () => StreamEvent | undefined
}

const lineEnd = /\r\n|\r|\n/

/**
 * Reads server-sent events however their bytes are cut: LF, CR or CRLF, comments, data of several lines, a byte order
 * mark, characters in two pieces. `id` and `retry` are for clients that connect again, which no model call does. Holds
 * what is not complete yet: whoever feeds it limits that.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function createEventDecoder(): EventDecoder {
  // Takes the byte order mark away, once.
  const decoder = new TextDecoder()
  // A list, since a line may come byte by byte: text that is searched again with each of them takes for ever.
  let begunLine: string[] = []
  let isAfterReturn = false
  let type = ''
  let data: string | undefined

  /** An empty line ends an event; one without data is none. */
  function takeLine(line: string): StreamEvent | undefined {
    if (line === '') {
      const event = data === undefined ? undefined : { type, data }
      type = ''
      data = undefined
      return event
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    if (field !== 'data' && field !== 'event') return undefined
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') type = value
    else data = data === undefined ? value : `${data}\n${value}`
    return undefined
  }

  return {
    push(bytes) {
      let text = decoder.decode(bytes, { stream: true })
      if (text === '') return []
      if (isAfterReturn && text.startsWith('\n')) text = text.slice(1)
      isAfterReturn = text.endsWith('\r')
      const lines = text.split(lineEnd)
      const rest = lines.pop() ?? ''
      if (lines.length > 0 && begunLine.length > 0) {
        lines[0] = begunLine.join('') + lines[0]
        begunLine = []
      }
      if (rest !== '') begunLine.push(rest)
      return lines.flatMap((line) => takeLine(line) ?? [])
    },
    end() {
      const rest = begunLine.join('') + decoder.decode()
      if (rest !== '') takeLine(rest)
      return takeLine('')
    },
  }
}
