import {
  isJSONRPCRequest,
  ProtocolError,
  type StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'

/** A code of our own, outside of the codes that the protocol reserves. */
const streamEnded = -31_999

/**
 * Fails a request whose stream ended without the answer: the library would wait for it until the time of the call is
 * up. After an answer this has no effect.
 */
export function failWithStream(transport: StreamableHTTPClientTransport): void {
  const send = transport.send.bind(transport)
  transport.send = (message, options) =>
    send(message, {
      ...options,
      onRequestStreamEnd() {
        options?.onRequestStreamEnd?.()
        if (!isJSONRPCRequest(message)) return
        const error = { code: streamEnded, message: 'The stream ended without an answer.' }
        transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error })
      },
    })
}

/** The server may have done the call: the caller must not be told that a retry is harmless. */
export const isStreamEnd = (error: unknown): boolean =>
  error instanceof ProtocolError && error.code === streamEnded
