import {
  addServerRequest,
  approveServerRequest,
} from '#runtime/catalog/types/installed-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import type { McpChange, McpServerRow } from '#runtime/catalog/types/mcp.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { administrator } from '#platform/routes/administrator.ts'
import { changeBy } from '#runtime/session/requests/change-by.ts'
import { missingSecrets, notSet } from './mcp-secrets.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `/api/operator/mcp…`: remote MCP servers, what they offer, and every change of what is allowed of it. */
export function addMcpRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/operator/mcp', { GET: listServers(deps), POST: addServer(deps) })
  addRoute('/api/operator/mcp/:server', {
    GET: showServer(deps),
    DELETE: plainChange(deps, 'remove'),
  })
  addRoute('/api/operator/mcp/:server/look', { POST: lookAtServer(deps) })
  addRoute('/api/operator/mcp/:server/approve', { POST: approveServer(deps) })
  addRoute('/api/operator/mcp/:server/login', { POST: loginAtServer(deps) })
  addRoute('/api/operator/principals/:principal/mcp-logins', { DELETE: forgetPrincipal(deps) })
  addRoute('/api/operator/mcp/:server/enable', { POST: plainChange(deps, 'enable') })
  addRoute('/api/operator/mcp/:server/disable', { POST: plainChange(deps, 'disable') })
}

const listServers: Handle = (deps) => async () =>
  jsonResponse({ servers: (await deps.mcp.list()).map(inBrief) })

function inBrief({ config: { id: _same, ...config }, ...row }: McpServerRow) {
  return { ...row, ...config }
}

const addServer: Handle = (deps) => async (context) => {
  const { replace, ...config } = parseFields(
    addServerRequest,
    await readJsonObject(context.req.raw),
  )
  const missing = await missingSecrets(deps, config)
  const done = await deps.mcp.change({ do: 'add', config, replace }, changeBy(deps, context))
  return jsonResponse({ ...done, notes: [...done.notes, ...missing.map(notSet)] })
}

/** What was seen when it was looked at last: nobody is asked. */
const showServer: Handle = (deps) => async (context) => {
  const view = await deps.mcp.show(idOf(context), context.get('principal').id)
  return jsonResponse({ ...view, missingSecrets: await missingSecrets(deps, view.config) })
}

/** A server that cannot be opened yet is not asked. */
const lookAtServer: Handle = (deps) => async (context) => {
  parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  const server = idOf(context)
  const { id: principal } = context.get('principal')
  const row = (await deps.mcp.list()).find(({ id }) => id === server)
  const missing = row ? await missingSecrets(deps, row.config) : []
  const view =
    missing.length > 0
      ? { ...(await deps.mcp.show(server, principal)), problem: missing.map(notSet).join('. ') }
      : await deps.mcp.look(server, principal)
  return jsonResponse({ ...view, missingSecrets: missing })
}

/** Where to sign in. The browser comes back to the address that this request was sent to. */
const loginAtServer: Handle = (deps) => async (context) => {
  parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  return jsonResponse(await deps.mcp.login(idOf(context), new URL(context.req.url).origin))
}

/** Every sign-in of one principal, where each signs in. */
const forgetPrincipal: Handle = (deps) => async (context) => {
  parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  const principal = context.req.param('principal') ?? ''
  const servers = await deps.mcp.forget(principal, administrator(deps, context))
  return jsonResponse({ principal, servers })
}

/** What was shown, with the hash it was shown for: anything else is refused. */
const approveServer: Handle = (deps) => async (context) => {
  const { items, ...seen } = parseFields(
    approveServerRequest,
    await readJsonObject(context.req.raw),
  )
  const asked = { id: idOf(context), ...seen, ...(items && { items }) }
  return jsonResponse(await deps.mcp.approve(asked, changeBy(deps, context)))
}

/** Those that need no more than the server's id. */
const plainChange =
  (deps: HttpDeps, what: 'enable' | 'disable' | 'remove') =>
  async (context: HttpContext): Promise<Response> => {
    parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
    return changed(deps, context, { do: what, id: idOf(context) })
  }

async function changed(deps: HttpDeps, context: HttpContext, change: McpChange): Promise<Response> {
  return jsonResponse(await deps.mcp.change(change, changeBy(deps, context)))
}

const idOf = (context: HttpContext): string => context.req.param('server') ?? ''
