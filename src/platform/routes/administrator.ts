import type { Administrator } from '#contracts/keys.ts'
import type { HttpContext, HttpDeps } from './deps.ts'
import { readTrace } from './headers.ts'

/** Who asks, and in which request: what the record has of a change. */
export function administrator({ sources }: HttpDeps, context: HttpContext): Administrator {
  return {
    principal: context.get('principal').id,
    trace: readTrace(context, sources).trace,
    requestId: context.get('requestId'),
  }
}
