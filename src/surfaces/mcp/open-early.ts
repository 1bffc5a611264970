import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Clock } from '#contracts/sources.ts'

/** So long an answer may take before its stream begins. */
const openAfterMs = 1_000

/** An answer that may take longer than a client waits for its first byte. */
export interface Answering {
  /** The request's own signal; aborted as well when the client closes the stream. */
  readonly signal: AbortSignal
  readonly clock: Pick<Clock, 'sleep'>
  readonly answer: (signal: AbortSignal) => Promise<Response>
  /** The message for an answer that fails after its stream began. */
  readonly onFault: (error: unknown) => JsonObject
}

/**
 * Begins the stream of an answer that takes a while. Closing a request cancels it (2026-07-28), and the platform
 * reports a client's leaving only after bytes were sent to it. A quick answer is sent without a stream.
 */
export async function openEarly({ signal, clock, answer, onFault }: Answering): Promise<Response> {
  const gone = new AbortController()
  const early = new AbortController()
  const answered = answer(AbortSignal.any([signal, gone.signal]))
  const wait = clock.sleep(openAfterMs, early.signal).then(() => undefined)
  const first = await Promise.race([answered, wait]).finally(() => early.abort())
  if (first) return first
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(encode(': it takes a moment\n\n'))
      try {
        for await (const chunk of framesOf(await answered)) controller.enqueue(chunk)
      } catch (error) {
        // The client is gone.
        if (gone.signal.aborted) return
        controller.enqueue(encode(`data: ${JSON.stringify(onFault(error))}\n\n`))
      }
      controller.close()
    },
    cancel: () => gone.abort(),
  })
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' }
  return new Response(body, { headers })
}

/** The events of an answer, whichever form it has. */
async function* framesOf(response: Response): AsyncGenerator<Uint8Array> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (isStream && response.body) return yield* response.body
  const text = await response.text()
  if (text !== '') yield encode(`data: ${text}\n\n`)
}

const encode = (text: string) => new TextEncoder().encode(text)

/** A request of a client that may be answered by a stream, and whose closing is its cancel. */
export function isClosable({ id, params }: JsonObject): boolean {
  const { _meta } = Object(params) as { readonly _meta?: Json }
  return id !== undefined && PROTOCOL_VERSION_META_KEY in Object(_meta)
}
