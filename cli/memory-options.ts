// Whose notes or documents a command is about.
import type { Reply } from '../src/client/client.ts'
import { flag, text, type Options, type ValuesOf } from './options.ts'
import { UsageError } from './usage.ts'

type Scope = Reply<'GET /api/memory/:note'>['scope']

export const where = {
  scope: text(undefined, 'principal, agent or deployment'),
  agent: text('id', 'of scope agent: whose'),
} as const satisfies Options
export const isDeployment = {
  deployment: flag("the deployment's, not your own", { to: 'scope', sends: 'deployment' }),
} as const satisfies Options

const scopes: readonly string[] = ['principal', 'agent', 'deployment'] satisfies readonly Scope[]

/** The scope of the two options, for a query or a body. */
export function whereOf({ scope, agent }: ValuesOf<typeof where>) {
  if (scope !== undefined && !scopes.includes(scope))
    throw new UsageError(`--scope is principal, agent or deployment, not ${scope}.`)
  const of = scope ?? (agent === undefined ? undefined : 'agent')
  return { scope: of as Scope | undefined, agent }
}
export const scopeUsage = '[--scope <scope>] [--agent <id>]'
