import * as z from 'zod'
import { isFields } from '#contracts/foreign-json.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Permit } from '#runtime/catalog/types/permit.ts'
import { refuseHidden } from '#contracts/visible-text.ts'

const flag = z.boolean().optional()
const inQuery = z.stringbool().optional()

/** `POST /api/operator/plugins`: options of the installation; with a zip they are in the query. */
export const addPluginOptions = z.object({
  allowDowngrade: flag,
  replace: flag,
  takeOver: flag,
  now: flag.describe(
    'One that asks for more waits if absent; with it, it is there at once and off.',
  ),
})
/** The same options in the query, for a zip. */
export const addPluginQuery = z.strictObject({
  allowDowngrade: inQuery,
  replace: inQuery,
  takeOver: inQuery,
  now: inQuery,
})

const jsonObject = z.custom<JsonObject>(isFields, 'must be an object')
const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be the 64 hex digits that were shown')

/** `POST …/plugins/:plugin/grant`. */
export const grantPluginRequest = z.strictObject({
  hash,
  // Compared as a whole with what the plugin requests; no part of it counts on its own.
  permit: z.custom<Permit>(
    (value) => typeof value === 'object' && value !== null,
    'must be `asks`',
  ),
  texts: z
    .boolean()
    .default(false)
    .describe('Whether what it tells models of itself (`texts`) was read, and counts as approved.'),
})
/** `POST …/plugins/:plugin/accept`: a version that waits. */
export const acceptPluginRequest = z.strictObject({ hash })
/** `POST …/plugins/:plugin/enable`. */
export const enablePluginRequest = z.strictObject({
  config: jsonObject.superRefine(refuseHidden('text')).optional(),
  hash: hash.optional(),
})
/** `DELETE …/plugins/:plugin`. */
export const removePluginQuery = z.strictObject({
  purge: z.enum(['true', 'false'], 'must be true or false').optional(),
})
/** `POST …/generations/:number/restore`. */
export const restoreRequest = z.strictObject({ withPolicy: z.boolean().default(false) })
