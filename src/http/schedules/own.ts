import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { ScheduleChanger, ScheduleOwner } from '#contracts/schedule.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { readTrace } from '../headers.ts'
import { seesEverybody } from '../sessions/open-session.ts'

/** Whose object keeps what the caller makes. */
export const ownerOf = (context: HttpContext): ScheduleOwner =>
  `principal:${context.get('principal').id}`

/** Who changes a schedule, and in which trace. */
export const changer = (deps: HttpDeps, context: HttpContext): ScheduleChanger => ({
  principal: context.get('principal').id,
  trace: readTrace(context, deps.sources).trace,
})

/** A schedule that the caller may look at, and the object that keeps it. */
export interface FoundSchedule {
  readonly owner: ScheduleOwner
  readonly id: string
  /** Absent for those who see everybody's. */
  readonly principal?: string
}

/**
 * Acts on a schedule of the caller's own, or for an operator or an auditor on anybody's: in the own object first, where
 * the newest are, then where the list says that it is. A malformed id looks like one that is absent.
 */
export async function onSchedule<T>(
  deps: HttpDeps,
  context: HttpContext,
  act: (found: FoundSchedule) => Promise<T>,
  kind: 'schedule' | 'subscription' = 'schedule',
): Promise<T> {
  const id = context.req.param('id') ?? ''
  const { id: principal, role } = context.get('principal')
  const owner = ownerOf(context)
  const none = new IsolaError('request_not_found', `There is no such ${kind}.`)
  if (!/^[0-9A-Za-z]{22}$/.test(id.slice(4)) || !id.startsWith(`${kind.slice(0, 3)}_`)) throw none
  try {
    return await act({ owner, id, principal })
  } catch (error) {
    if (errorCode(error) !== 'request_not_found') throw error
    const listed = await deps.schedules.find(id)
    const isOwn = listed?.asker.principal === principal
    if (!listed || listed.owner === owner || !(isOwn || seesEverybody(role))) throw none
    return act({ owner: listed.owner, id, ...(isOwn && { principal }) })
  }
}
