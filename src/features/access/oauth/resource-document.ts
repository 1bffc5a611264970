import { baselineScope } from '#platform/routes/types/scopes.ts'

/** Any page may read the document, and no client may cache it, since an address may move. */
const headers = {
  'cache-control': 'no-store',
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'authorization, *',
  'access-control-max-age': '86400',
}

/**
 * The document that says how to sign in at a part of this deployment.
 *
 * @param part Path of the part, such as `/mcp`.
 * @see RFC 9728, section 2
 */
export function describeResource(
  { method }: Pick<Request, 'method'>,
  { origin, part }: { readonly origin: string; readonly part: string },
): Response {
  if (method === 'OPTIONS') return new Response(null, { status: 204, headers })
  const document = {
    resource: origin + part,
    authorization_servers: [origin],
    // The document of `/api` lists no scopes: a client must ask for operator rights by name, and not take them as the
    // baseline.
    ...(part !== '/api' && { scopes_supported: [baselineScope] }),
    bearer_methods_supported: ['header'],
    resource_name: 'Isola',
  }
  return Response.json(document, { headers })
}
