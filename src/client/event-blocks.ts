import { createParser } from 'eventsource-parser'
import { createLineFeeds } from '#contracts/foreign-json.ts'
import { ApiError, noReply } from './api-error.ts'

/** One block of a server-sent event stream. */
export interface EventBlock {
  readonly event?: string | undefined
  readonly id?: string | undefined
  readonly data: string
}

/** A block of a session is a row at most; a longer block is an error, so that it cannot fill the memory. */
const maxBlockChars = 16 * 1024 * 1024

/** The blocks of a server-sent event stream. */
export async function* readBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<EventBlock> {
  const decoder = new TextDecoder()
  const toLineFeeds = createLineFeeds()
  let blocks: EventBlock[] = []
  // A block without its blank line has not arrived: a cut block is read again after the cursor.
  const parser = createParser({
    maxBufferSize: maxBlockChars,
    onEvent: (block) => void blocks.push(block),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw noReply('answer_broken', error.message)
    },
  })
  for await (const chunk of chunks) {
    parser.feed(toLineFeeds(decoder.decode(chunk, { stream: true })))
    const arrived = blocks
    blocks = []
    yield* arrived
  }
}

function onCut(error: unknown): never {
  if (error instanceof ApiError) throw error
  throw noReply('answer_broken', error instanceof Error ? error.message : String(error), error)
}

/** The bytes of a connection, which `onSilence` may end. Reads by hand: some browsers cannot iterate a stream. */
export async function* chunksOf(
  { body }: Response,
  { silenceMs, onSilence }: { readonly silenceMs: number; readonly onSilence: () => void },
): AsyncGenerator<Uint8Array> {
  if (!body) return
  const reader = body.getReader()
  try {
    for (;;) {
      const timer = setTimeout(onSilence, silenceMs)
      const { done, value } = await reader
        .read()
        .catch(onCut)
        .finally(() => clearTimeout(timer))
      if (done) return
      yield value
    }
  } finally {
    // Also where the reader stops early: the server need not go on.
    await reader.cancel().catch(() => undefined)
  }
}
