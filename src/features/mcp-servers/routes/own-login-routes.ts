import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { McpAdministration, McpSelf } from '#runtime/catalog/types/part-kind.ts'
import { noBody } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { flag, text, reply } from '#platform/routes/shapes.ts'
import { finishOwnLoginRequest } from './requests.ts'

interface OwnLoginDeps {
  readonly mcp: Pick<McpAdministration, 'own'>
}

const params = { server: 'Its id.' }
const own = { params, body: noBody, errors: [409], check: refuseToken } as const
/** How a sign-in at a server begins. */
export const begun = {
  200: {
    is: 'It is signed in, or somebody has to open a page.',
    json: z.discriminatedUnion('state', [
      z.object({ state: z.literal('signed_in') }),
      z.object({ state: z.literal('open'), url: text }),
    ]),
  },
}

/** `/api/mcp/:server/login…`: the caller's own sign-in at a remote MCP server where each principal signs in. */
export default [
  route('GET /api/mcp/:server/login', {
    roles: talkers,
    summary: 'Whether the caller is signed in at a server where each principal signs in.',
    params,
    replies: reply(
      200,
      'How it stands.',
      z.object({
        state: z.enum(['signed_in', 'signed_out']),
        isDenied: flag.optional().describe('The sign-in that was begun last was denied there.'),
      }),
    ),
    errors: [409],
    handle: ({ mcp }: OwnLoginDeps, request) =>
      mcp.own.show(request.params.server, selfOf(request)),
  }),
  route('POST /api/mcp/:server/login', {
    roles: talkers,
    summary: 'Begins to sign in at a server, for the caller. Needs a key: a token is refused.',
    ...own,
    replies: begun,
    // The browser comes back to the address that this request was sent to.
    handle: ({ mcp }: OwnLoginDeps, request) =>
      mcp.own.begin(request.params.server, selfOf(request), new URL(request.raw.url).origin),
  }),
  route('POST /api/mcp/:server/login/finish', {
    roles: talkers,
    summary: 'Ends what the caller began, with the code that the browser showed.',
    ...own,
    body: finishOwnLoginRequest,
    replies: reply(200, 'Signed in.', z.object({ state: z.literal('signed_in') })),
    async handle({ mcp }: OwnLoginDeps, request) {
      await mcp.own.finish(request.params.server, selfOf(request), request.body.code)
      return { state: 'signed_in' }
    },
  }),
  route('DELETE /api/mcp/:server/login', {
    roles: talkers,
    summary: 'Signs the caller out: what is kept of its sign-in is gone, and its calls end.',
    ...own,
    replies: reply(200, 'Signed out.', z.object({ state: z.literal('signed_out') })),
    async handle({ mcp }: OwnLoginDeps, request) {
      await mcp.own.end(request.params.server, selfOf(request))
      return { state: 'signed_out' }
    },
  }),
] as const

/** A token was given to a client for work: it uses the sign-ins of its principal, and neither begins nor ends one. */
function refuseToken({ caller: { token } }: RequestContext): void {
  if (token)
    throw new IsolaError(
      'request_forbidden',
      'An access token does not sign in at MCP servers for its principal, nor out: send a key.',
    )
}

/** The principal that signs in. */
function selfOf(request: RequestContext): McpSelf {
  refuseToken(request)
  return { ...request.by(), role: request.caller.role }
}
