/** One answer of the scripted model server: what its fetch comes to. */
export type Answer = (signal: AbortSignal, sleep: Sleep) => Promise<Response>
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>

/** A piece of a body: text or bytes, a pause in virtual milliseconds, or how the body ends other than by ending. */
export type Piece = string | Uint8Array | number | typeof resets | typeof hangs

export const resets = Symbol('the connection breaks')
export const hangs = Symbol('nothing more arrives')

const utf8 = new TextEncoder()

function bodyOf(pieces: Iterable<Piece>, signal: AbortSignal, sleep: Sleep): ReadableStream {
  const left = pieces[Symbol.iterator]()
  const isGone = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')))
  })
  isGone.catch(() => {})
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = left.next()
          if (done) return controller.close()
          if (value === resets) throw new TypeError('terminated')
          if (value === hangs) await isGone
          else if (typeof value === 'number') await Promise.race([sleep(value, signal), isGone])
          else {
            return controller.enqueue(typeof value === 'string' ? utf8.encode(value) : value)
          }
        }
      },
    },
    { highWaterMark: 0 },
  )
}

/** A response made of pieces; a reset or silence among them happens to the body. */
export const responds =
  (
    pieces: Iterable<Piece>,
    init: { readonly status?: number; readonly headers?: Record<string, string> } = {},
  ): Answer =>
  async (signal, sleep) =>
    new Response(bodyOf(pieces, signal, sleep), {
      status: init.status ?? 200,
      headers: { 'content-type': 'text/event-stream', ...init.headers },
    })

export const status = (code: number, headers: Record<string, string> = {}, body = ''): Answer =>
  responds([body || '{"error":{"message":"upstream words"}}'], {
    status: code,
    headers: { 'content-type': 'application/json', ...headers },
  })

/** A connection that breaks before there is a response. */
export const noAnswer: Answer = async () => {
  throw new TypeError('fetch failed')
}

/** A server that never answers. */
export const silence: Answer = (signal) =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError'))),
  )

export const json = (body: unknown, headers: Record<string, string> = {}): Answer =>
  responds([typeof body === 'string' ? body : JSON.stringify(body)], {
    headers: { 'content-type': 'application/json', ...headers },
  })

export const event = (body: unknown): string =>
  `data: ${typeof body === 'string' ? body : JSON.stringify(body)}\n\n`

export const done = event('[DONE]')

/** One chunk of a completion. */
export const chunk = (delta: unknown, reason: unknown = null): string =>
  event({ model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })

export const counted = { prompt_tokens: 100, completion_tokens: 10 }
export const usage = (of: unknown = counted): string =>
  event({ model: 'm', choices: [], usage: of })

/** A stream in its proper order, with its last events. */
export const stream = (...pieces: readonly Piece[]): Answer =>
  responds([...pieces, chunk({}, 'stop'), usage(), done])

/** A stream exactly as it is given. */
export const raw = (...pieces: readonly Piece[]): Answer => responds(pieces)

export const fine = stream(chunk({ content: 'all ' }), chunk({ content: 'well' }))

export const fineInOnePiece = json({
  model: 'm',
  choices: [{ index: 0, message: { content: 'all well' }, finish_reason: 'stop' }],
  usage: counted,
})

/** A call of the one tool there is, with these arguments. */
export const call = (args: unknown, more: object = {}): object => ({
  index: 0,
  id: 'c1',
  function: { name: 'note', arguments: args },
  ...more,
})

/** A stream that asks for calls. */
export const calls = (...made: readonly unknown[]): Answer =>
  responds([chunk({ tool_calls: made }), chunk({}, 'tool_calls'), usage(), done])
