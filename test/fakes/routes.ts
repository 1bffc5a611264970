import type { Access } from '../../src/platform/routes/access.ts'

export interface Route {
  readonly method: string
  readonly path: string
  readonly allowed: Access
}

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
