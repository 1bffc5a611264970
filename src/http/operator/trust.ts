import { addTrustRequest } from '#contracts/api/requests/settings.ts'
import type { TrustedKey } from '#contracts/trust.ts'
import { readJsonObject } from '../body.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'
import { administrator } from './administrator.ts'
import { changeBy } from './change-by.ts'

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
