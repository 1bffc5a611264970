import { noFields } from '#contracts/routes/request-lists.ts'
import { setSecretRequest } from '#features/policy/types/settings-requests.ts'
import type { SecretView } from '../types/secrets.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { readTrace } from '#platform/routes/headers.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `GET /api/operator/secrets`: what is set and which plugins ask for it, and what they ask for that is not set. */
export const listSecrets: Handle = (deps) => async () => {
  const [secrets, plugins] = await Promise.all([deps.secrets.list(), deps.plugins.list()])
  const askers = plugins.map(({ id, secrets: names }) => ({ plugin: id, secrets: names }))
  const askedBy = (name: string) =>
    askers.filter(({ secrets: names }) => names.includes(name)).map(({ plugin }) => plugin)
  const isSet = new Set(secrets.map(({ name }) => name))
  const asked = new Set(askers.flatMap(({ secrets: names }) => names))
  return jsonResponse({
    secrets: secrets.map((secret) => ({ ...shown(secret), askedBy: askedBy(secret.name) })),
    missing: [...asked]
      .filter((name) => !isSet.has(name))
      .toSorted()
      .map((name) => ({ name, askedBy: askedBy(name) })),
  })
}

/** Puts a value in. No answer, event or log ever holds it again. */
export const setSecret: Handle = (deps) => async (context) => {
  const secret = parseFields(setSecretRequest, await readJsonObject(context.req.raw))
  return jsonResponse(shown(await deps.secrets.set(secret, administrator(deps, context))))
}

/** Forgets a secret; whoever is granted it fails from the next use on. 404 if there is none. */
export const removeSecret: Handle = (deps) => async (context) => {
  const name = context.req.param('name') ?? ''
  await deps.secrets.remove(name, administrator(deps, context))
  return jsonResponse({ name, removed: true })
}

/** Seals everything under the current `ISOLA_MASTER_KEY`. Repeated, it changes nothing. */
export const rotateSecrets: Handle = (deps) => async (context) => {
  parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  return jsonResponse(await deps.secrets.rotate(administrator(deps, context)))
}

const shown = ({ name, keyId, setBy, setAtMs }: SecretView) => ({ name, keyId, setBy, setAtMs })

const administrator = ({ sources }: HttpDeps, context: HttpContext) => ({
  principal: context.get('principal').id,
  trace: readTrace(context, sources).trace,
  requestId: context.get('requestId'),
})
