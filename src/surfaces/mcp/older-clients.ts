import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { JsonObject } from '#contracts/json.ts'
import type { McpDeps } from './deps.ts'
import { readPrintable } from '#platform/routes/headers.ts'

/**
 * A client of 2025 keeps its requests apart by number, and cancels one in a request of its own. It is given a session
 * id
 * that stands for nothing here: together with the number of a request it names the session that the request's run is
 * in,
 * for this principal only.
 */
export const sessionHeader = 'mcp-session-id'
const maxChars = 100

const open: ReadonlySet<string> = new Set(['queued', 'running', 'parked'])

/** Where the run of a request is; `undefined` for a client that sends no session id. */
export async function sessionOf(
  { sessions }: Pick<McpDeps, 'sessions'>,
  principal: string,
  { headers, request }: { readonly headers: Headers | undefined; readonly request: unknown },
): Promise<string | undefined> {
  const own = headers && readPrintable(headers, sessionHeader, maxChars)
  if (own === undefined) return undefined
  return sessions.idFor('named', [principal, 'mcp', own, JSON.stringify(request)])
}

/** Cancels a call that a client of 2025 has given up. A call that is unknown, or over, is no fault. */
export async function cancelRequest(
  deps: Pick<McpDeps, 'sessions'>,
  principal: string,
  { headers, body }: { readonly headers: Headers; readonly body: JsonObject },
): Promise<void> {
  if (body['method'] !== 'notifications/cancelled') return
  const { requestId } = Object(body['params'])
  const session = await sessionOf(deps, principal, { headers, request: requestId })
  if (session === undefined) return
  const api = deps.sessions.at(session)
  const tree = await api.tree(principal)
  const runs = tree.ok ? tree.value.runs.filter(({ state }) => open.has(state)) : []
  for (const { id } of runs) await api.cancel(principal, id, 'The client cancelled the call.')
}

/** A fault in the parameters of a request, in the form of the protocol. */
export const invalidParams = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message)
