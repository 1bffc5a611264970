import { headOf } from '#contracts/cut.ts'
import {
  isJSONRPCRequest,
  ProtocolError,
  type StreamableHTTPClientTransport,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { ToolFailure } from '#contracts/tool.ts'

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
const isStreamEnd = (error: unknown): boolean =>
  error instanceof ProtocolError && error.code === streamEnded

const maxTheirsChars = 1_000

/** Nothing was asked, so to ask again is harmless. After anything else the call may have been done. */
const notAsked: readonly string[] = [
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
  SdkErrorCode.EraNegotiationFailed,
]

/**
 * The part of a failure that a model may read: the server's own words, capped, never the platform's, which may hold
 * addresses.
 */
export function toCallFailure(
  thrown: unknown,
  { id: server, auth }: Pick<McpServerConfig, 'id' | 'auth'>,
): ToolFailure {
  const code = 'tool_failed' as const
  const error = beneath(thrown)
  if (errorCode(error) === code) return { code, message: errorMessage(error) }
  if (error instanceof UnauthorizedError || (error instanceof SdkHttpError && error.status === 401))
    return { code, message: notSignedIn[auth](server) }
  if (isStreamEnd(error))
    return { code, message: `The MCP server ${server} ended its answer before it was whole.` }
  if (error instanceof ProtocolError)
    return {
      code,
      message: `The MCP server ${server} refused: ${headOf(reasonOf(error), maxTheirsChars)}`,
    }
  if (error instanceof SdkHttpError)
    return {
      code,
      message: `The MCP server ${server} answered with HTTP ${error.status}.`,
      ...(error.status >= 500 && { transient: true }),
    }
  if (error instanceof SdkError)
    return {
      code,
      message: `The MCP server ${server} did not answer as the protocol says (${error.code}).`,
      ...(notAsked.includes(error.code) && { transient: true }),
    }
  if (isBroken(error))
    return { code, message: `The MCP server ${server} could not be reached.`, transient: true }
  return { code, message: `The MCP server ${server} answered what cannot be read.` }
}

/** The error's message with its data: some servers give the reason only there. */
function reasonOf({ message, data }: ProtocolError): string {
  const more = data === undefined || data === null ? '' : JSON.stringify(data)
  return more === '' || more === '{}' ? message : `${message} ${more}`
}

/** Whose turn it is where a server wants to know who calls. */
export const notSignedIn: Readonly<Record<McpServerConfig['auth'], (server: string) => string>> = {
  oauth: (server) =>
    `Nobody is signed in at the MCP server ${server}. The operator can: isola mcp login ${server}`,
  principal: (server) =>
    `At the MCP server ${server} each signs in for themselves, and whoever this is for has not. They ` +
    `can: isola mcp login ${server} --mine`,
  headers: (server) =>
    `The MCP server ${server} answered with HTTP 401: look at its headers, or add it again with --oauth --replace.`,
}

/** The library's first question to a server says only that it failed: why (no secret, no way there) is beneath it. */
function beneath(error: unknown): unknown {
  if (!(error instanceof SdkError) || error.code !== SdkErrorCode.EraNegotiationFailed) return error
  return errorCode(error.cause) === 'tool_failed' || isBroken(error.cause) ? error.cause : error
}

/** The request was not sent: this side lacks a value or refused it. */
export const isOurs = (error: unknown): boolean => errorCode(beneath(error)) === 'tool_failed'

/** The server no longer knows this session, so it did not do the call. */
export const isSessionGone = (error: unknown): boolean =>
  error instanceof SdkHttpError && (error.status === 404 || error.status === 410)

const brokenCodes: readonly string[] = [
  SdkErrorCode.NotConnected,
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.SendFailed,
]

/**
 * Whether the connection is of no more use. A server's answer to one call (an error status, an invalid answer, too
 * many bytes) concerns that call alone: other calls go on over the same connection.
 */
export function isBroken(error: unknown): boolean {
  if (isSessionGone(error)) return true
  if (error instanceof SdkHttpError || error instanceof ProtocolError) return false
  if (error instanceof SdkError) return brokenCodes.includes(error.code)
  if (error instanceof UnauthorizedError || errorCode(error) !== undefined) return false
  // The platform throws these two names where it reaches no server; a parser throws others.
  return error instanceof Error && (error.name === 'TypeError' || error.name === 'Error')
}
