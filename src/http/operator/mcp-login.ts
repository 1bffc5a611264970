import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** Nothing of the request is in the page, whatever somebody wrote into the address (docs/security.md T28). */
const page = (text: string, status: number): Response =>
  new Response(`<!doctype html><meta charset="utf-8"><title>Isola</title><p>${text}</p>`, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
  })

const expected: readonly unknown[] = ['request_invalid', 'request_not_found']
const maxQueryChars = 8_192

/** `GET /mcp/callback`: a browser comes back from an authorization server. Its state is the only thing that it brings. */
export const finishMcpLogin: Handle = (deps) => async (context) => {
  const { search } = new URL(context.req.url)
  try {
    if (search.length > maxQueryChars) throw new IsolaError('request_invalid', 'too long')
    await deps.mcp.finishLogin(search)
    return page('Signed in. You can close this page.', 200)
  } catch (error) {
    // That nobody began it here is no fault; anything else an operator has to hear of.
    if (!expected.includes(errorCode(error))) deps.onFault?.(error, context.get('requestId'))
    return page('This sign-in did not work, or is over. Begin it again: isola mcp login', 400)
  }
}

/** `GET /mcp/client.json`: what authorization servers may read of this deployment, as a client (CIMD). */
export const showMcpClient: Handle = (deps) => async (context) =>
  jsonResponse(deps.mcp.clientMetadata(new URL(context.req.url).origin))
