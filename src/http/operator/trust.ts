import * as z from 'zod'
import type { TrustedKey } from '#contracts/trust.ts'
import { readJsonObject } from '../body.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'
import { administrator } from './administrator.ts'

const addRequest = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9._@+-]{0,63}$/,
      'must be 1 to 64 lowercase letters, digits or . _ @ + -, and begin with a letter or digit',
    ),
  publicKey: z
    .string()
    .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be an Ed25519 public key, its 32 bytes as base64'),
})

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `GET /api/operator/trust`: the keys whose signatures make a plugin trusted. */
export const listTrust: Handle = (deps) => async () =>
  jsonResponse({ keys: (await deps.trust.list()).map(shown) })

/** Accepts a key. What is installed already stays in its tier. */
export const addTrust: Handle = (deps) => async (context) => {
  const request = parseFields(addRequest, await readJsonObject(context.req.raw))
  const key = await deps.trust.add(request, administrator(deps, context))
  return jsonResponse(shown(key), { status: 201 })
}

/** By name or id. What was installed under the key stays as it is. */
export const removeTrust: Handle = (deps) => async (context) => {
  const name = context.req.param('key') ?? ''
  return jsonResponse(shown(await deps.trust.remove(name, administrator(deps, context))))
}

const shown = ({ id, name, publicKey, addedBy, addedAtMs }: TrustedKey) => ({
  id,
  name,
  publicKey,
  addedBy,
  addedAtMs,
})
