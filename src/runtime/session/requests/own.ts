import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { Administrator } from '#contracts/keys.ts'
import type { Principal } from '#contracts/operations.ts'
import { keeperOf, type ScheduleAsker, type ScheduleChanger } from '../types/schedule.ts'
import type {
  ScheduleGateway,
  ScheduleIndex,
  ScheduleVerb,
  ScheduleVerbs,
} from '../types/schedule-object.ts'
import type { ScheduleKeeper } from '#contracts/schedule-requests.ts'
import type { Sources } from '#contracts/sources.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { seesEverybody } from '#platform/routes/queries.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** The ports of the routes of schedules and of subscriptions. */
export interface ScheduleDeps {
  readonly schedules: ScheduleGateway & Pick<ScheduleIndex, 'find' | 'list'>
  readonly sources: Sources
}

export type Kind = 'schedule' | 'subscription'

/** The object that owns the caller's schedules. */
export const ownerOf = ({ id }: Pick<Principal, 'id'>): ScheduleKeeper => `principal:${id}`

/** The principal that changes a schedule, and the trace. */
export const changer = ({ principal, trace }: Administrator): ScheduleChanger => ({
  principal,
  trace,
})

/** The principal and the credential of the caller's schedules. */
export const askerOf = ({ id: principal, key, grant }: Principal): ScheduleAsker => ({
  principal,
  ...(key !== undefined && { key }),
  ...(grant !== undefined && { grant }),
})

/** An id from the idempotency key, so that a repeated request finds the schedule that it made. */
export function newId(sources: Sources, { raw, caller }: RequestContext, kind: Kind): string {
  const key = readIdempotencyKey(raw.headers)
  const prefix = kind.slice(0, 3) as 'sch' | 'sub' // the beginnings of these two
  if (key === undefined) return sources.ids.next(prefix)
  return `${prefix}_${sources.sha256(JSON.stringify([kind, caller.id, key])).slice(0, 22)}`
}

/** A schedule that the caller may look at, and the object that keeps it. */
interface FoundSchedule {
  readonly keeper: ScheduleKeeper
  readonly id: string
  /** Absent for a caller that may read all principals' schedules. */
  readonly principal?: string
}

/**
 * Acts on a schedule of the caller or, for an operator or an auditor, of any principal: first in the caller's own
 * object, which has the newest schedules, then in the object that the list names. A malformed id looks absent.
 */
export async function onSchedule<T>(
  { schedules }: Pick<ScheduleDeps, 'schedules'>,
  { params, caller }: RequestContext,
  act: (found: FoundSchedule) => Promise<T>,
  kind: Kind = 'schedule',
): Promise<T> {
  const { id = '' } = params
  const { id: principal, role } = caller
  const keeper = ownerOf(caller)
  const none = new IsolaError('request_not_found', `There is no such ${kind}.`)
  if (!/^[0-9A-Za-z]{22}$/.test(id.slice(4)) || !id.startsWith(`${kind.slice(0, 3)}_`)) throw none
  try {
    return await act({ keeper, id, principal })
  } catch (error) {
    if (errorCode(error) !== 'request_not_found') throw error
    const listed = await schedules.find(id)
    const isOwn = listed?.asker.principal === principal
    if (!listed || keeperOf(listed) === keeper || !(isOwn || seesEverybody(role))) throw none
    return act({ keeper: keeperOf(listed), id, ...(isOwn && { principal }) })
  }
}

/** One verb of the object that owns a schedule. */
export const askOf = <Verb extends ScheduleVerb>(
  deps: Pick<ScheduleDeps, 'schedules'>,
  request: RequestContext,
  { kind, verb, more }: { kind: Kind; verb: Verb; more?: Omit<ScheduleVerbs[Verb]['ask'], Of> },
): Promise<ScheduleVerbs[Verb]['answer']> =>
  onSchedule(
    deps,
    request,
    ({ keeper, ...of }) =>
      deps.schedules.ask(keeper, verb, { ...of, ...more } as ScheduleVerbs[Verb]['ask']),
    kind,
  )

type Of = 'id' | 'principal'
