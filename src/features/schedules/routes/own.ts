import { errorCode, IsolaError } from '#contracts/errors.ts'
import { keeperOf } from '../types/schedule-keeper.ts'
import type { ScheduleAsker, ScheduleChanger, ScheduleKeeper } from '#contracts/schedule.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { readIdempotencyKey, readTrace } from '#platform/routes/headers.ts'
import { seesEverybody } from '#runtime/session/requests/open-session.ts'

/** Whose object keeps what the caller makes. */
export const ownerOf = (context: HttpContext): ScheduleKeeper =>
  `principal:${context.get('principal').id}`

/** Who changes a schedule, and in which trace. */
export const changer = (deps: HttpDeps, context: HttpContext): ScheduleChanger => ({
  principal: context.get('principal').id,
  trace: readTrace(context, deps.sources).trace,
})

/** In whose name the caller's schedules work, and by what. */
export function askerOf(context: HttpContext): ScheduleAsker {
  const { id: principal, key, grant } = context.get('principal')
  return {
    principal,
    ...(key !== undefined && { key }),
    ...(grant !== undefined && { grant }),
  }
}

/** A key names what the caller makes, so that a repeated request meets the one it made. */
export function idOf(
  { sources }: HttpDeps,
  context: HttpContext,
  kind: 'schedule' | 'subscription',
): string {
  const key = readIdempotencyKey(context.req.raw.headers)
  const prefix = kind.slice(0, 3) as 'sch' | 'sub' // the beginnings of these two
  if (key === undefined) return sources.ids.next(prefix)
  const parts = [kind, context.get('principal').id, key]
  return `${prefix}_${sources.sha256(JSON.stringify(parts)).slice(0, 22)}`
}

/** Of the lists: those of every principal. */
export const everybody = '*'

/** A schedule that the caller may look at, and the object that keeps it. */
export interface FoundSchedule {
  readonly keeper: ScheduleKeeper
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
  const keeper = ownerOf(context)
  const none = new IsolaError('request_not_found', `There is no such ${kind}.`)
  if (!/^[0-9A-Za-z]{22}$/.test(id.slice(4)) || !id.startsWith(`${kind.slice(0, 3)}_`)) throw none
  try {
    return await act({ keeper, id, principal })
  } catch (error) {
    if (errorCode(error) !== 'request_not_found') throw error
    const listed = await deps.schedules.find(id)
    const isOwn = listed?.asker.principal === principal
    if (!listed || keeperOf(listed) === keeper || !(isOwn || seesEverybody(role))) throw none
    return act({ keeper: keeperOf(listed), id, ...(isOwn && { principal }) })
  }
}
