import * as z from 'zod'
import { listLimit, principalName } from '#contracts/routes/request-lists.ts'

const confirm = z.string().describe('The same name once more: it cannot be taken back.')

/** `GET /api/operator/erasures`. */
export const erasuresQuery = z.strictObject({ limit: listLimit.optional() })

/** `POST /api/operator/erasures`. */
export const startErasureRequest = z.strictObject({
  principal: principalName.describe('Who is erased.'),
  confirm,
})

/** `POST /api/erasure`. */
export const eraseMyselfRequest = z.strictObject({ confirm })
