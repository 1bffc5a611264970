/** A body that knows whether it was taken whole. */
export interface WatchedBody {
  readonly body: ReadableStream<Uint8Array>
  readonly isTaken: () => boolean
}

/**
 * A text as a body of which the last byte is a piece of its own. The platform says "Network connection lost." of a
 * refused connection and of a lost answer alike; but it takes the last piece only after the connection stands, TLS
 * included, and the pieces before it are written. No server can have read a piece that was not taken.
 */
export function watchedBody(text: string): WatchedBody {
  const bytes = new TextEncoder().encode(text)
  const { readable, writable } = new FixedLengthStream(bytes.byteLength)
  const writer = writable.getWriter()
  let isTaken = false
  // Each fails with the request, which says so itself.
  writer.write(bytes.subarray(0, -1)).catch(() => {})
  writer.write(bytes.subarray(-1)).then(
    () => void (isTaken = true),
    () => {},
  )
  writer.close().catch(() => {})
  return { body: readable, isTaken: () => isTaken }
}
