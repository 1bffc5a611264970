import { changeNetworkRequest } from '../types/settings-requests.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { changeBy } from '#runtime/session/requests/change-by.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `GET /api/operator/http`: which hosts the `http` tools may reach. */
export const readNetwork: Handle = (deps) => async () => {
  const { generation, policy } = await deps.plugins.policy()
  return jsonResponse({ generation, ...policy.network })
}

/** Opens hosts and closes others. It is the policy that changes, and nothing else of it. */
export const changeNetwork: Handle = (deps) => async (context) => {
  const { allow, deny, ...rest } = parseFields(
    changeNetworkRequest,
    await readJsonObject(context.req.raw),
  )
  const change = { allow, deny, ...(rest.elsewhere && { elsewhere: rest.elsewhere }) }
  const by = changeBy(deps, context)
  const { generation, notes } = await deps.plugins.change({ do: 'network', ...change }, by)
  return jsonResponse({ generation, notes })
}
