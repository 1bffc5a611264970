import { ApiError, noReply } from './api-error.ts'

/** One block of a server-sent event stream. */
export interface EventBlock {
  readonly event?: string
  readonly id?: string
  readonly data: string
}

/** One block out of its lines; undefined for a comment. */
function toBlock(text: string): EventBlock | undefined {
  const fields: Record<string, string> = {}
  for (const line of text.split(/\r?\n/)) {
    const [, name, value] = /^(event|id|data): ?(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) continue
    fields[name] = fields[name] === undefined ? value : `${fields[name]}\n${value}`
  }
  const { data, ...rest } = fields
  return data === undefined ? undefined : { ...rest, data }
}

/** The blocks of a server-sent event stream. */
export async function* readBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<EventBlock> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/)
    // What has no blank line after it has not arrived: a cut block is read again after the cursor.
    rest = blocks.pop() ?? ''
    for (const text of blocks) {
      const block = toBlock(text)
      if (block) yield block
    }
  }
}

function onCut(error: unknown): never {
  if (error instanceof ApiError) throw error
  throw noReply('answer_broken', error instanceof Error ? error.message : String(error), error)
}

/** What arrives on a connection, which whoever is told may end after a silence. Not every browser iterates a stream. */
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
    // Also where whoever reads has enough: the server need not go on.
    await reader.cancel().catch(() => undefined)
  }
}
