/** A JSON answer; 200 unless it says otherwise. */
export function jsonResponse(
  body: unknown,
  options: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Response {
  return new Response(JSON.stringify(body), {
    status: options.status ?? 200,
    headers: { 'content-type': 'application/json', ...options.headers },
  })
}

/** Server-sent events that no proxy holds back or keeps. */
export function eventStreamResponse(
  body: ReadableStream<Uint8Array> | null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      // nginx and its like would hold the stream back until it ends.
      'x-accel-buffering': 'no',
      ...headers,
    },
  })
}

/** The header of an answer to a repeated request: its work had been accepted before. */
export function replayed(isReplayed: boolean): Readonly<Record<string, string>> {
  return isReplayed ? { 'idempotent-replayed': 'true' } : {}
}
