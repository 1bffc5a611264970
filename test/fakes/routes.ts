import { readRoutes } from '../../src/surfaces/http/openapi/document.ts'
import type { Access, RouteModule, RouteTable } from '../../src/platform/routes/route.ts'
import { routeTable } from '../../src/routes.gen.ts'

export interface Route {
  readonly method: string
  readonly path: string
  readonly allowed: Access
}

/** The roles that may use each path of the API, by its methods. */
export const declaredAccess: Readonly<Record<string, Readonly<Record<string, Access>>>> =
  Object.fromEntries(Object.entries(routeTable).map(([path, { roles }]) => [path, roles]))

const get = { GET: 'anyone' } as const
const post = { POST: 'anyone' } as const

/** The same of every path: pages, files and sign-ins are for anyone, and no part of the API. */
export const access: Readonly<Record<string, Readonly<Record<string, Access>>>> = {
  '/': get,
  '/favicon.svg': get,
  '/favicon.ico': get,
  '/robots.txt': get,
  '/.well-known/oauth-authorization-server': get,
  '/.well-known/oauth-protected-resource/mcp': get,
  '/.well-known/oauth-protected-resource/v1': get,
  '/.well-known/oauth-protected-resource/api': get,
  '/.well-known/agent-skills/:path{.+}': get,
  '/authorize': { ...get, ...post },
  '/oauth/callback': get,
  '/oauth/token': post,
  '/oauth/register': post,
  ...declaredAccess,
}

/** Every file that declares routes. */
export const loadAll = (): readonly Promise<RouteModule>[] =>
  [...new Set(Object.values<RouteTable[string]>(routeTable))].map(({ load }) => load())

/** Every route that is in the OpenAPI document. */
export const readAllRoutes = () => readRoutes(routeTable)

/** Every route of a table, one by one. */
export const routesOf = (
  table: Readonly<Record<string, Readonly<Record<string, Access>>>>,
): readonly Route[] =>
  Object.entries(table).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, allowed]) => ({ method, path, allowed })),
  )

/** Ids in the real shapes, of things that need not be there. */
const parts: Readonly<Record<string, string>> = {
  ':id{.+}': 'orchestrator',
  ':id': `ses_${'S'.repeat(22)}`,
  ':item': 'msg_nope',
  ':run': `run_${'R'.repeat(22)}`,
  ':principal': 'nobody',
  ':grant': `grant_${'0'.repeat(22)}`,
  ':key': `key_${'K'.repeat(22)}`,
}

/** A request's path for a route's. */
export const pathOf = (path: string): string =>
  path
    .split('/')
    .map((part) => parts[part] ?? part)
    .join('/')
