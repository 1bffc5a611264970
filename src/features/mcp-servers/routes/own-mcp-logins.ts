import { finishOwnLoginRequest } from '#runtime/catalog/types/installed-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { McpSelf } from '#runtime/catalog/types/mcp-administration.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps, HttpHandler } from '#platform/routes/deps.ts'
import { administrator } from '#platform/routes/administrator.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'

/** `/api/mcp/:server/login…`: one's own sign-in at a remote MCP server where each principal signs in. */
export function addOwnMcpLoginRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  const { own } = deps.mcp
  const plain =
    (answer: (id: string, by: McpSelf, context: HttpContext) => Promise<object>): HttpHandler =>
    async (context) => {
      const by = selfOf(deps, context)
      parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
      return jsonResponse(await answer(idOf(context), by, context))
    }
  addRoute('/api/mcp/:server/login', {
    GET: async (context) => jsonResponse(await own.show(idOf(context), selfOf(deps, context))),
    // The browser comes back to the address that this request was sent to.
    POST: plain((id, by, { req }) => own.begin(id, by, new URL(req.url).origin)),
    DELETE: plain(async (id, by) => {
      await own.end(id, by)
      return { state: 'signed_out' }
    }),
  })
  addRoute('/api/mcp/:server/login/finish', {
    POST: async (context) => {
      const by = selfOf(deps, context)
      const { code } = parseFields(finishOwnLoginRequest, await readJsonObject(context.req.raw))
      await own.finish(idOf(context), by, code)
      return jsonResponse({ state: 'signed_in' })
    },
  })
}

/**
 * Who signs in. A token was given to a client for work: it uses the sign-ins of its principal, and neither begins nor
 * ends one.
 */
function selfOf(deps: HttpDeps, context: HttpContext): McpSelf {
  const { role, token } = context.get('principal')
  if (token)
    throw new IsolaError(
      'request_forbidden',
      'An access token does not sign in at MCP servers for its principal, nor out: send a key.',
    )
  return { ...administrator(deps, context), role }
}

const idOf = (context: HttpContext): string => context.req.param('server') ?? ''
