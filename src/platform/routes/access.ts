import { IsolaError } from '#contracts/errors.ts'
import type { Role } from '#contracts/keys.ts'
import { scopesFor, type Scope } from '#contracts/scopes.ts'
import type { HttpHandler } from './deps.ts'

/** The methods that routes have; HEAD follows from GET, OPTIONS from all. */
export type Method = 'GET' | 'POST' | 'DELETE'

/** Who a route is for. */
export type Access = 'anyone' | readonly Role[]

const operators = ['operator'] as const
const readers = ['operator', 'auditor'] as const
/** An author brings plugins, and enables none. */
const installers = ['operator', 'author'] as const
const pluginReaders = ['operator', 'author', 'auditor'] as const
/** Those who talk to agents. */
const talkers = ['operator', 'author', 'user'] as const
/** Those who read sessions: talkers their own, operators and auditors everybody's. */
const sessionReaders = [...talkers, 'auditor'] as const
const everybody = [...talkers, 'auditor'] as const

/**
 * Every route, and who may use it. The app has no route that is not in here, and refuses whoever is not named before it
 * looks at the request.
 */
export const access = {
  '/': { GET: 'anyone' },
  '/favicon.svg': { GET: 'anyone' },
  '/favicon.ico': { GET: 'anyone' },
  '/robots.txt': { GET: 'anyone' },
  '/healthz': { GET: 'anyone' },
  '/.well-known/oauth-authorization-server': { GET: 'anyone' },
  '/.well-known/oauth-protected-resource/mcp': { GET: 'anyone' },
  '/.well-known/oauth-protected-resource/v1': { GET: 'anyone' },
  '/.well-known/oauth-protected-resource/api': { GET: 'anyone' },
  '/.well-known/agent-skills/:path{.+}': { GET: 'anyone' },
  '/authorize': { GET: 'anyone', POST: 'anyone' },
  '/oauth/callback': { GET: 'anyone' },
  '/oauth/token': { POST: 'anyone' },
  '/oauth/register': { POST: 'anyone' },
  // What brings a browser back from signing in at a remote MCP server has no key; its state is checked.
  '/mcp/callback': { GET: 'anyone' },
  '/mcp/client.json': { GET: 'anyone' },
  '/v1/chat/completions': { POST: talkers },
  '/v1/responses': { POST: talkers },
  // Before the one with a parameter, which would take it for an id.
  '/v1/responses/compact': { POST: talkers },
  '/v1/responses/:id': { GET: talkers, DELETE: talkers },
  '/v1/responses/:id/input_items': { GET: talkers },
  '/v1/responses/:id/cancel': { POST: talkers },
  '/v1/conversations': { POST: talkers },
  '/v1/conversations/:id': { GET: talkers, POST: talkers, DELETE: talkers },
  '/v1/conversations/:id/items': { GET: talkers, POST: talkers },
  '/v1/conversations/:id/items/:item': { GET: talkers },
  '/v1/models': { GET: talkers },
  '/v1/models/:id{.+}': { GET: talkers },
  '/mcp': { GET: talkers, POST: talkers, DELETE: talkers },
  // Whoever has a key: it says nothing of what is here, but a stranger is told nothing at all.
  '/api/openapi.json': { GET: everybody },
  '/api/status': { GET: everybody },
  '/api/runs': { GET: sessionReaders },
  '/api/runs/:run': { GET: sessionReaders },
  '/api/sessions': { GET: sessionReaders, POST: talkers },
  '/api/sessions/:id': { GET: sessionReaders, POST: talkers, DELETE: talkers },
  '/api/sessions/:id/transcript': { GET: sessionReaders },
  '/api/sessions/:id/context': { GET: sessionReaders },
  '/api/sessions/:id/compact': { POST: talkers },
  '/api/sessions/:id/reclaim': { POST: talkers },
  '/api/sessions/:id/events': { GET: sessionReaders },
  '/api/sessions/:id/runs': { POST: talkers },
  '/api/sessions/:id/runs/:run': { GET: sessionReaders },
  '/api/sessions/:id/runs/:run/cancel': { POST: talkers },
  '/api/sessions/:id/runs/:run/messages': { POST: talkers },
  '/api/sessions/:id/runs/:run/decisions': { POST: talkers },
  '/api/sessions/:id/runs/:run/limits': { POST: talkers },
  '/api/agents': { GET: sessionReaders, POST: talkers },
  // Before the one with a parameter, which would take them for ids.
  '/api/agents/on-demand': { POST: talkers },
  '/api/agents/promote': { POST: talkers },
  '/api/agents/:agent': { GET: sessionReaders, DELETE: talkers },
  '/api/agents/:agent/diff': { GET: sessionReaders },
  '/api/agents/:agent/rollback': { POST: talkers },
  '/api/agents/:agent/archive': { POST: talkers },
  '/api/agents/:agent/restore': { POST: talkers },
  '/api/agents/:agent/approve': { POST: talkers },
  '/api/personas': { GET: talkers },
  '/api/memory': { GET: talkers, POST: talkers, DELETE: talkers },
  '/api/memory/:note': { GET: talkers, POST: talkers, DELETE: talkers },
  '/api/knowledge': { GET: talkers, POST: talkers, DELETE: talkers },
  // Before the one with a parameter, which would take it for an id.
  '/api/knowledge/search': { GET: talkers },
  '/api/knowledge/:document': { GET: talkers, DELETE: talkers },
  '/api/erasure': { POST: talkers },
  '/api/usage': { GET: everybody },
  '/api/approval-rules': { GET: sessionReaders },
  '/api/approval-rules/:rule': { DELETE: talkers },
  '/api/schedules': { GET: sessionReaders, POST: talkers },
  '/api/schedules/:id': { GET: sessionReaders, POST: talkers, DELETE: talkers },
  '/api/schedules/:id/history': { GET: sessionReaders },
  '/api/schedules/:id/pause': { POST: talkers },
  '/api/schedules/:id/resume': { POST: talkers },
  '/api/schedules/:id/run': { POST: talkers },
  '/api/subscriptions': { GET: sessionReaders, POST: talkers },
  '/api/subscriptions/:id': { GET: sessionReaders, DELETE: talkers },
  '/api/subscriptions/:id/history': { GET: sessionReaders },
  '/api/subscriptions/:id/pause': { POST: talkers },
  '/api/subscriptions/:id/resume': { POST: talkers },
  '/api/notices': { GET: talkers },
  '/api/notices/:notice': { DELETE: talkers },
  '/api/settings': { GET: talkers, POST: talkers },
  // One's own sign-ins; a token is refused behind this.
  '/api/mcp/:server/login': { GET: talkers, POST: talkers, DELETE: talkers },
  '/api/mcp/:server/login/finish': { POST: talkers },
  '/api/operator/approvals': { GET: pluginReaders, POST: installers },
  '/api/operator/approvals/:id': { GET: pluginReaders, POST: installers },
  '/api/operator/audit': { GET: readers },
  '/api/operator/health': { GET: readers },
  '/api/operator/incidents/:incident': { DELETE: operators },
  '/api/operator/models': { GET: readers },
  '/api/operator/metrics': { GET: operators },
  '/api/operator/usage': { GET: readers },
  '/api/operator/unconfirmed': { GET: readers },
  '/api/operator/unconfirmed/:id': { POST: operators },
  '/api/operator/runs': { GET: operators },
  '/api/operator/runs/:run': { GET: operators },
  '/api/operator/runs/:run/retry': { POST: operators },
  '/api/operator/runs/:run/drop': { POST: operators },
  '/api/operator/keys': { GET: operators, POST: operators },
  '/api/operator/keys/:key/revoke': { POST: operators },
  '/api/operator/keys/:key/rotate': { POST: operators },
  '/api/operator/grants': { GET: operators },
  '/api/operator/grants/:grant/revoke': { POST: operators },
  '/api/operator/secrets': { GET: operators, POST: operators },
  '/api/operator/secrets/rotate': { POST: operators },
  '/api/operator/secrets/:name': { DELETE: operators },
  '/api/operator/memory/:principal': { GET: operators, DELETE: operators },
  '/api/operator/erasures': { GET: operators, POST: operators },
  '/api/operator/erasures/:erasure': { GET: operators },
  '/api/operator/principals/:principal': { POST: operators },
  '/api/operator/principals/:principal/mcp-logins': { DELETE: operators },
  '/api/operator/trust': { GET: operators, POST: operators },
  '/api/operator/trust/:key': { DELETE: operators },
  '/api/operator/policy': { GET: readers, POST: operators },
  '/api/operator/policy/test': { POST: readers },
  '/api/operator/http': { GET: readers, POST: operators },
  '/api/operator/exposed': { GET: readers, POST: operators },
  '/api/operator/skills': { GET: pluginReaders, POST: installers },
  '/api/operator/skills/:skill': { GET: pluginReaders, DELETE: operators },
  '/api/operator/skills/:skill/update': { POST: operators },
  '/api/operator/skills/:skill/enable': { POST: operators },
  '/api/operator/skills/:skill/disable': { POST: operators },
  // What agents wrote may quote what anybody said to them.
  '/api/operator/skill-drafts': { GET: readers },
  '/api/operator/skill-drafts/:draft': { GET: readers, DELETE: operators },
  '/api/operator/skill-drafts/:draft/promote': { POST: operators },
  '/api/operator/plugins': { GET: pluginReaders, POST: installers },
  '/api/operator/plugins/:plugin': { GET: pluginReaders, DELETE: operators },
  '/api/operator/plugins/:plugin/accept': { POST: operators },
  '/api/operator/plugins/:plugin/grant': { POST: operators },
  '/api/operator/plugins/:plugin/revoke': { POST: operators },
  '/api/operator/plugins/:plugin/enable': { POST: operators },
  '/api/operator/plugins/:plugin/disable': { POST: operators },
  '/api/operator/plugins/:plugin/rollback': { POST: operators },
  '/api/operator/mcp': { GET: readers, POST: operators },
  '/api/operator/mcp/:server': { GET: readers, DELETE: operators },
  '/api/operator/mcp/:server/look': { POST: operators },
  '/api/operator/mcp/:server/approve': { POST: operators },
  '/api/operator/mcp/:server/login': { POST: operators },
  '/api/operator/mcp/:server/enable': { POST: operators },
  '/api/operator/mcp/:server/disable': { POST: operators },
  '/api/operator/generations': { GET: pluginReaders },
  '/api/operator/generations/:number/restore': { POST: operators },
} as const satisfies Readonly<Record<string, Readonly<Partial<Record<Method, Access>>>>>

/** Routes of `/api` that take a query, and check it themselves: every other one refuses whatever is in it. */
const takingQuery: ReadonlySet<string> = new Set([
  'GET /api/runs',
  'GET /api/sessions',
  'GET /api/sessions/:id',
  'GET /api/sessions/:id/transcript',
  'GET /api/sessions/:id/events',
  'GET /api/knowledge',
  'DELETE /api/knowledge',
  'GET /api/knowledge/search',
  'GET /api/knowledge/:document',
  'DELETE /api/knowledge/:document',
  'GET /api/memory',
  'DELETE /api/memory',
  'GET /api/memory/:note',
  'POST /api/memory/:note',
  'DELETE /api/memory/:note',
  'GET /api/agents/:agent/diff',
  'GET /api/approval-rules',
  'GET /api/schedules',
  'GET /api/schedules/:id/history',
  'GET /api/notices',
  'GET /api/subscriptions',
  'GET /api/subscriptions/:id/history',
  'GET /api/operator/approvals',
  'GET /api/operator/audit',
  'GET /api/operator/models',
  'GET /api/operator/metrics',
  'GET /api/usage',
  'GET /api/operator/usage',
  'GET /api/operator/unconfirmed',
  'GET /api/operator/runs',
  'GET /api/operator/keys',
  'GET /api/operator/grants',
  'GET /api/operator/erasures',
  'POST /api/operator/plugins',
  'POST /api/operator/skills',
  'DELETE /api/operator/plugins/:plugin',
] satisfies readonly `${Method} ${RoutePath}`[])

/** Whether a query with anything in it is refused before a handler looks at it. OpenAI's clients may send what they like. */
export const refusesQuery = (method: string, path: string): boolean =>
  path.startsWith('/api/') && !takingQuery.has(`${method} ${path}`)

/** A path of the table, as the router has it (`/api/sessions/:id`). */
export type RoutePath = keyof typeof access

/** A handler for each method that the table has for this path, and for no other. */
export type HandlersOf<Path extends RoutePath> = Readonly<
  Record<Extract<keyof (typeof access)[Path], Method>, HttpHandler>
>

/**
 * Lets a handler answer those it is for; the others get `request_forbidden` and learn nothing of what is there. A token
 * may less than its principal, never more: without the scope it gets `request_insufficient_scope`, and its client may
 * ask for another.
 */
export function guarded(allowed: Access, handler: HttpHandler): HttpHandler {
  if (allowed === 'anyone') return handler
  return async (context, next) => {
    const { role, token } = context.get('principal')
    const needed = scopesFor(allowed)
    const has = (list: readonly Scope[]) => needed.some((scope) => list.includes(scope))
    if (token ? has(token.scopes) : allowed.includes(role)) return handler(context, next)
    if (!token || !has(token.couldHave)) {
      const message = `This needs the role ${allowed.join(' or ')}.`
      throw new IsolaError('request_forbidden', message)
    }
    // The list is what the client asks for next: what it has already must be in it, and nothing that it can never get.
    const within = needed.filter((scope) => token.couldHave.includes(scope))
    context.set('neededScopes', [...within.slice(0, 1), ...token.scopes])
    const message = `This needs a token with the scope ${within.join(' or ')}.`
    throw new IsolaError('request_insufficient_scope', message)
  }
}
