import { changeNetworkRequest } from '#contracts/api/requests/settings.ts'
import { defined } from '#contracts/defined.ts'
import { readJsonObject } from '../body.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'
import { changeBy } from './change-by.ts'

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
  const change = { allow, deny, ...defined({ elsewhere: rest.elsewhere }) }
  const by = changeBy(deps, context)
  const { generation, notes } = await deps.plugins.change({ do: 'network', ...change }, by)
  return jsonResponse({ generation, notes })
}
