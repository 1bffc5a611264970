import * as z from 'zod'
import { mcpServerSchema } from '#runtime/catalog/types/mcp.ts'

const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be the 64 hex digits that were shown')
const names = z.array(z.string().min(1).max(2_100)).max(500)

/** `POST /api/operator/mcp`. */
export const addServerRequest = mcpServerSchema
  .unwrap()
  .extend({ replace: z.boolean().default(false) })
/** `POST /api/mcp/:server/login/finish`. */
export const finishOwnLoginRequest = z.strictObject({
  code: z.string().regex(/^login_[0-9A-Za-z]{22}$/, 'must be the code that the browser showed'),
})
/** `POST …/mcp/:server/approve`. */
export const approveServerRequest = z.strictObject({
  hash,
  items: names.optional(),
  confirm: names.default([]),
  harmless: names.default([]),
  closed: names.default([]),
})
