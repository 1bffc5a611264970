import type { SubmitRequest } from '#contracts/submission.ts'
import type { HttpContext } from './deps.ts'

/**
 * Who asks, as every submission says it: its principal, the key it showed, what its day has, and whom it may talk to.
 * The key's own limits and agents hold in the session only if they are here.
 */
export function askedBy(
  context: HttpContext,
): Pick<SubmitRequest, 'principal' | 'key' | 'grant' | 'dayLimits' | 'allowedAgents'> {
  const { id: principal, key, grant, limits, agents } = context.get('principal')
  return {
    principal,
    ...(key !== undefined && { key }),
    ...(grant !== undefined && { grant }),
    ...(limits && { dayLimits: limits }),
    ...(agents && { allowedAgents: agents }),
  }
}
