import type { Client } from '#contracts/operations.ts'
import type { HttpContext } from './types.ts'

/** Whom limits and the record go by: the address, as Cloudflare tells it, and the request. */
export function clientOf({ req, get }: HttpContext): Client {
  return { address: req.header('cf-connecting-ip'), requestId: get('requestId') }
}
