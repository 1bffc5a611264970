import { addTrustRequest } from '#features/policy/types/settings-requests.ts'
import type { TrustedKey } from '#runtime/catalog/types/trust.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { administrator } from '#platform/routes/administrator.ts'
import { changeBy } from '#runtime/session/requests/change-by.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `GET /api/operator/trust`: the keys whose signatures make a plugin trusted. */
export const listTrust: Handle = (deps) => async () =>
  jsonResponse({ keys: (await deps.trust.list()).map(shown) })

/** Accepts a key. What is installed already stays in its tier. */
export const addTrust: Handle = (deps) => async (context) => {
  const request = parseFields(addTrustRequest, await readJsonObject(context.req.raw))
  const key = await deps.trust.add(request, administrator(deps, context))
  return jsonResponse(shown(key), { status: 201 })
}

/** By name or id. What it signed goes on as a stranger's, from now on: also if that failed before, when it is asked again. */
export const removeTrust: Handle = (deps) => async (context) => {
  const name = context.req.param('key') ?? ''
  const removing = deps.trust.remove(name, administrator(deps, context))
  await removing.catch(() => {})
  await deps.plugins.change({ do: 'distrust' }, changeBy(deps, context))
  return jsonResponse(shown(await removing))
}

const shown = ({ id, name, publicKey, addedBy, addedAtMs }: TrustedKey) => ({
  id,
  name,
  publicKey,
  addedBy,
  addedAtMs,
})
