import type { HttpDeps } from '../deps.ts'
import type { AddRoute } from '../routes.ts'
import { readAudit } from './audit.ts'
import { dropGivenUp, listGivenUp, retryGivenUp, showGivenUp } from './given-up.ts'
import { readHealth } from './health.ts'
import { readModels } from './models.ts'
import { forRoles } from './roles.ts'
import { readUsage } from './usage.ts'

const operators = ['operator'] as const
const readers = ['operator', 'auditor'] as const

/** `/api/operator/…`: the record, how the deployment and its models are, what was spent, and the runs that were given up. */
export function addOperatorRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/operator/audit', { GET: forRoles(readers, readAudit(deps)) })
  addRoute('/api/operator/health', { GET: forRoles(readers, readHealth(deps)) })
  addRoute('/api/operator/models', { GET: forRoles(readers, readModels(deps)) })
  addRoute('/api/operator/usage', { GET: forRoles(operators, readUsage(deps)) })
  addRoute('/api/operator/runs', { GET: forRoles(operators, listGivenUp(deps)) })
  addRoute('/api/operator/runs/:run', { GET: forRoles(operators, showGivenUp(deps)) })
  addRoute('/api/operator/runs/:run/retry', { POST: forRoles(operators, retryGivenUp(deps)) })
  addRoute('/api/operator/runs/:run/drop', { POST: forRoles(operators, dropGivenUp(deps)) })
}
