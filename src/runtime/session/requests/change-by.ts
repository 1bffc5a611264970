import type { ChangeBy } from '#runtime/catalog/types/plugin-catalog.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { readTrace } from '#platform/routes/headers.ts'

/** Who asks, for the record: an author installs, and enables nothing. */
export function changeBy({ sources }: HttpDeps, context: HttpContext): ChangeBy {
  const { id: principal, role } = context.get('principal')
  return {
    principal,
    trace: readTrace(context, sources).trace,
    requestId: context.get('requestId'),
    mayEnable: role === 'operator',
  }
}
