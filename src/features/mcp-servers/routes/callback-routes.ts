import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { McpAdministration, McpFinished } from '#runtime/catalog/types/part-kind.ts'
import type { OnFault, RequestContext } from '#platform/routes/request.ts'
import { anyone } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'

interface LoginDeps {
  readonly mcp: Pick<McpAdministration, 'finishLogin' | 'clientMetadata'>
  /** Gets what a caller never sees. */
  readonly onFault?: OnFault
}

/** The page has no text from the request: a stranger can have written the address (docs/security.md T28). */
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

/**
 * The code and the server's id are our own texts, so the page may show them. The code ends the sign-in only for the
 * principal that began it.
 */
function pageFor(finished: McpFinished): Response {
  switch (finished.state) {
    case 'signed_in':
      return page('Signed in. You can close this page.', 200)
    case 'code': {
      const command = `isola mcp login ${finished.server} --mine --code ${finished.code}`
      return page(
        `Nearly done. Type this where you began to sign in:<p><code>${command}</code><p>If you did ` +
          'not begin this yourself, close this page and give the code to nobody: who has it would act as you.',
        200,
      )
    }
    case 'denied':
      return page('The sign-in was denied there: nobody is signed in.', 400)
    case 'failed':
      return page(notDone, 400)
  }
}

const notDone = 'This sign-in did not work, or is over. Begin it again: isola mcp login'

/** A browser comes back from an authorization server. Its state is the only thing that it brings. */
export async function finishMcpLogin(
  { mcp, onFault }: LoginDeps,
  { raw, requestId }: Pick<RequestContext, 'raw' | 'requestId'>,
): Promise<Response> {
  const { search } = new URL(raw.url)
  try {
    if (search.length > maxQueryChars) throw new IsolaError('request_invalid', 'too long')
    return pageFor(await mcp.finishLogin(search))
  } catch (error) {
    // A state that no sign-in here began is no fault of ours; any other failure is reported to the operator.
    if (!expected.includes(errorCode(error))) onFault?.(error, requestId)
    return page(notDone, 400)
  }
}

/** Routes for browsers and authorization servers; neither has a key. Not in the OpenAPI document. */
export default [
  // The state that the browser brings is checked.
  route('GET /mcp/callback', {
    roles: anyone,
    replies: {},
    handle: (deps: LoginDeps, request) => finishMcpLogin(deps, request),
  }),
  // The client metadata of this deployment for authorization servers (CIMD).
  route('GET /mcp/client.json', {
    roles: anyone,
    replies: { 200: { is: 'The metadata of this client.' } },
    handle: ({ mcp }: LoginDeps, { raw }) => mcp.clientMetadata(new URL(raw.url).origin),
  }),
] as const
