import type { HttpDeps, HttpHandler } from '#platform/routes/deps.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import {
  decideApproval,
  decideApprovals,
  listApprovals,
  showApproval,
} from '#features/approvals/routes/approvals.ts'
import { readAudit } from '#features/record/routes/audit.ts'
import {
  dropGivenUp,
  listGivenUp,
  retryGivenUp,
  showGivenUp,
} from '#features/record/routes/given-up.ts'
import { clearIncident, readHealth } from '#features/record/routes/health.ts'
import { listGrants, revokeGrant } from '#features/access/routes/grants.ts'
import { readMetrics } from '#features/record/routes/metrics.ts'
import { readModels } from '#features/record/routes/models.ts'
import {
  addKey,
  changePrincipal,
  listKeys,
  revokeKey,
  rotateKey,
} from '#features/access/routes/keys.ts'
import { addTrust, listTrust, removeTrust } from '#features/access/routes/trust.ts'
import { addMcpRoutes } from '#features/mcp-servers/routes/mcp.ts'
import { addPluginRoutes } from '#features/plugins/routes/plugins.ts'
import { findErasure, listErasures, startErasure } from '#features/record/routes/erasures.ts'
import { readExposed, setExposed } from '#features/policy/routes/exposed.ts'
import { changeNetwork, readNetwork } from '#features/policy/routes/network.ts'
import { readPolicy, setPolicy, testPolicy } from '#features/policy/routes/policy.ts'
import { forgetPrincipal, memoryOfPrincipal } from '#features/memory/routes/operator-memory.ts'
import {
  listSecrets,
  removeSecret,
  rotateSecrets,
  setSecret,
} from '#features/access/routes/secrets.ts'
import { addDraftRoutes } from '#features/skills/routes/skill-drafts.ts'
import { addSkillRoutes } from '#features/skills/routes/skills.ts'
import { confirmAttempt, listUnconfirmed } from '#features/record/routes/unconfirmed.ts'
import { readUsage } from '#features/record/routes/usage.ts'

/** `/api/operator/…`: the record, how the deployment and its models are, what was spent, the runs that were given up, keys, and secrets. */
export function addOperatorRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  const addFresh = withAgents(addRoute, deps)
  addRoute('/api/operator/approvals', {
    GET: listApprovals(deps),
    POST: decideApprovals(deps),
  })
  addRoute('/api/operator/approvals/:id', {
    GET: showApproval(deps),
    POST: decideApproval(deps),
  })
  addRoute('/api/operator/audit', { GET: readAudit(deps) })
  addFresh('/api/operator/health', { GET: readHealth(deps) })
  addRoute('/api/operator/incidents/:incident', { DELETE: clearIncident(deps) })
  addRoute('/api/operator/models', { GET: readModels(deps) })
  addRoute('/api/operator/metrics', { GET: readMetrics(deps) })
  addRoute('/api/operator/usage', { GET: readUsage(deps) })
  addRoute('/api/operator/unconfirmed', { GET: listUnconfirmed(deps) })
  addRoute('/api/operator/unconfirmed/:id', { POST: confirmAttempt(deps) })
  addRoute('/api/operator/runs', { GET: listGivenUp(deps) })
  addRoute('/api/operator/runs/:run', { GET: showGivenUp(deps) })
  addRoute('/api/operator/runs/:run/retry', { POST: retryGivenUp(deps) })
  addRoute('/api/operator/runs/:run/drop', { POST: dropGivenUp(deps) })
  addFresh('/api/operator/keys', { GET: listKeys(deps), POST: addKey(deps) })
  addRoute('/api/operator/keys/:key/revoke', { POST: revokeKey(deps) })
  addRoute('/api/operator/keys/:key/rotate', { POST: rotateKey(deps) })
  addRoute('/api/operator/grants', { GET: listGrants(deps) })
  addRoute('/api/operator/grants/:grant/revoke', { POST: revokeGrant(deps) })
  addRoute('/api/operator/memory/:principal', {
    GET: memoryOfPrincipal(deps),
    DELETE: forgetPrincipal(deps),
  })
  addRoute('/api/operator/erasures', { GET: listErasures(deps), POST: startErasure(deps) })
  addRoute('/api/operator/erasures/:erasure', { GET: findErasure(deps) })
  addRoute('/api/operator/secrets', { GET: listSecrets(deps), POST: setSecret(deps) })
  addRoute('/api/operator/secrets/rotate', { POST: rotateSecrets(deps) })
  addRoute('/api/operator/secrets/:name', { DELETE: removeSecret(deps) })
  addFresh('/api/operator/principals/:principal', { POST: changePrincipal(deps) })
  addRoute('/api/operator/trust', { GET: listTrust(deps), POST: addTrust(deps) })
  addRoute('/api/operator/trust/:key', { DELETE: removeTrust(deps) })
  addFresh('/api/operator/policy', { GET: readPolicy(deps), POST: setPolicy(deps) })
  addRoute('/api/operator/http', { GET: readNetwork(deps), POST: changeNetwork(deps) })
  addFresh('/api/operator/exposed', { GET: readExposed(deps), POST: setExposed(deps) })
  addFresh('/api/operator/policy/test', { POST: testPolicy(deps) })
  addPluginRoutes(addRoute, deps)
  addSkillRoutes(addFresh, deps)
  addDraftRoutes(addRoute, deps)
  addMcpRoutes(addFresh, deps)
}

/** Adds routes that look at the agents there are, or at their tools. */
const withAgents =
  (addRoute: AddRoute, { refreshAgents }: HttpDeps): AddRoute =>
  (path, handlers) => {
    const fresh = (handler: HttpHandler): HttpHandler =>
      async function afterRefresh(context, next) {
        await refreshAgents?.()
        return handler(context, next)
      }
    const all = Object.entries<HttpHandler>(handlers).map(([method, one]) => [method, fresh(one)])
    addRoute(path, Object.fromEntries(all) as typeof handlers) // the same methods
  }
