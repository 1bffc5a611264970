import { access as older } from '../../src/http/access.ts'
import { readRoutes } from '../../src/http/openapi/document.ts'
import type { Access } from '../../src/http/routes/route.ts'
import { routeTable } from '../../src/routes.gen.ts'

export interface Route {
  readonly method: string
  readonly path: string
  readonly allowed: Access
}

/** Who may use each path, by its methods. */
export const access: Readonly<Record<string, Readonly<Record<string, Access>>>> = {
  ...older,
  ...Object.fromEntries(Object.entries(routeTable).map(([path, { roles }]) => [path, roles])),
}

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
