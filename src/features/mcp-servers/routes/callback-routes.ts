import { anyone } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { finishMcpLogin, type LoginDeps } from './finish-login.ts'

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
