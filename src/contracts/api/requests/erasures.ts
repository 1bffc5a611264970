import * as z from 'zod'
import { listLimit, principalName } from './lists.ts'

/** `GET /api/operator/erasures`. */
export const erasuresQuery = z.strictObject({ limit: listLimit.optional() })

/** `POST /api/operator/erasures`; without `principal` that of `POST /api/erasure`. */
export const startErasureRequest = z.strictObject({
  principal: principalName.describe('Who is erased.'),
  confirm: z.string().describe('The same name once more: it cannot be taken back.'),
})
