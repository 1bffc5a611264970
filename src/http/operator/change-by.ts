import type { ChangeBy } from '#contracts/plugin-catalog.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { readTrace } from '../headers.ts'

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
