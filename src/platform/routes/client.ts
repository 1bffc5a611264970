import type { Client } from '#contracts/operations.ts'
import type { HttpContext } from './types.ts'

/** The client for limits and the record: the address, as Cloudflare reports it, and the request. */
export function clientOf({ req, get }: HttpContext): Client {
  return { address: req.header('cf-connecting-ip'), requestId: get('requestId') }
}
