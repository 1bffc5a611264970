import { talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import type { McpDeps } from './deps.ts'
import { answerMcp } from './mcp.ts'

const rest = {
  readsItself: true,
  replies: {},
  handle: (deps: McpDeps, request: Parameters<typeof answerMcp>[1]) => answerMcp(deps, request),
} as const

/** `/mcp`: the protocol names its methods itself, so the OpenAPI document does not have it. */
export default [
  route('GET /mcp', { roles: talkers, ...rest }),
  route('POST /mcp', { roles: talkers, ...rest }),
  route('DELETE /mcp', { roles: talkers, ...rest }),
] as const
