import { createFakeMcp, RpcError, type FakeMcpOptions } from './mcp-server.ts'

export const form = { type: 'object', properties: { name: { type: 'string' } } }
export const elicit = (message: string) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: form },
})
export const sample = {
  method: 'sampling/createMessage',
  params: {
    messages: [{ role: 'user', content: { type: 'text', text: 'Sum it up.' } }],
    maxTokens: 9,
  },
}
/** Asks by `input_required`, as today's protocol does: all of `requests`, and says what came back. */
export const modern = (requests: object): FakeMcpOptions => ({
  more: {
    'tools/call': ({ inputResponses }) =>
      inputResponses === undefined
        ? { resultType: 'input_required', inputRequests: requests, requestState: 'state' }
        : {
            resultType: 'complete',
            content: [{ type: 'text', text: JSON.stringify(inputResponses) }],
          },
  },
})

/** The same, of what its `text` is. */
export const modernOf = (toRequest: (text: string) => object): FakeMcpOptions => ({
  more: {
    'tools/call': (params, seen) => {
      const { text = '' } = params['arguments'] as { text?: string }
      return modern({ only: toRequest(text) }).more?.['tools/call']?.(params, seen)
    },
  },
})

/** Asks over the stream of the call, as the protocol before did, what its `text` is. */
export function legacy(toRequest: (text: string) => object, url?: string) {
  let count = 0
  const server: ReturnType<typeof createFakeMcp> = createFakeMcp({
    era: 'legacy',
    ...(url !== undefined && { url }),
    more: {
      'tools/call': ({ arguments: input }, { id }) => {
        const own = `ask-${(count += 1)}`
        const { text = '' } = input as { text?: string }
        const line = (json: object) =>
          new TextEncoder().encode(`data: ${JSON.stringify({ jsonrpc: '2.0', ...json })}\n\n`)
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(line({ id: own, ...toRequest(text) }))
            const heard = setInterval(() => {
              const said = server.state.said.find((one) => one.id === own)
              if (!said) return
              clearInterval(heard)
              const content = [{ type: 'text', text: JSON.stringify(said.result ?? said.error) }]
              controller.enqueue(line({ id, result: { content } }))
              controller.close()
            }, 5)
          },
        })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      },
    },
  })
  return server
}

/** Asks over the stream of the session (2025-11-25), which says nothing of the call that it is about. */
export function overSession(toRequest: (text: string) => object) {
  const encoder = new TextEncoder()
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined
  const state = { streams: 0 }
  let count = 0
  const server: ReturnType<typeof createFakeMcp> = createFakeMcp({
    era: 'legacy',
    more: {
      'tools/call': async ({ arguments: input }) => {
        const { text = '' } = input as { text?: string }
        const own = `ask-${(count += 1)}`
        const json = { jsonrpc: '2.0', id: own, ...toRequest(text) }
        stream?.enqueue(encoder.encode(`data: ${JSON.stringify(json)}\n\n`))
        for (let tries = 0; tries < 400; tries += 1) {
          const said = server.state.said.find((one) => one.id === own)
          if (said) return { content: [{ type: 'text', text: JSON.stringify(said) }] }
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
        throw new RpcError('Nobody answers.')
      },
    },
  })
  const answer = async (request: Request): Promise<Response> => {
    if (request.method !== 'GET') return server.answer(request)
    // As the servers of the SDK do.
    if (state.streams > 0) return new Response(null, { status: 409 })
    state.streams += 1
    request.signal.addEventListener('abort', () => (state.streams -= 1))
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void (stream = controller),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  return {
    ...server,
    answer,
    /** Streams of sessions that are open. */
    streams: () => state.streams,
    /** Asks over the stream of the session that is open now, whatever is under way. */
    askNow: (text: string) => {
      const json = { jsonrpc: '2.0', id: `stray-${text}`, ...toRequest(text) }
      stream?.enqueue(encoder.encode(`data: ${JSON.stringify(json)}\n\n`))
    },
  }
}
