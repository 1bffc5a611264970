import type { ForgottenText } from '#runtime/session/types/forgotten-text.ts'
import type { ForgottenSlot, HeardOfPerson } from '#runtime/session/types/schedule-object.ts'
import type { Schedule, Slot } from '#runtime/session/types/schedule.ts'
import type { ScheduleRows } from './rows.ts'
import type { Verbs } from './verbs.ts'

/**
 * Events of an erased principal that other principals' subscriptions received: `heardOf` lists where they went, so
 * that erasure goes there, then `forgetHeard` deletes them here. Firings that such an event caused count, too.
 */
export const createForgetVerbs = (rows: ScheduleRows): Pick<Verbs, 'heardOf' | 'forgetHeard'> => ({
  heardOf: ({ principal, limit }) =>
    rows.causedBy(principal, limit).map((slot) => toHeard(slot, rows.schedule(slot.schedule))),
  forgetHeard({ slots }) {
    return { forgotten: slots.reduce((sum, slot) => sum + rows.forgetSlot(slot), 0) }
  },
})

function toHeard(slot: Slot, schedule: Schedule | undefined): HeardOfPerson {
  const { slotMs, session, cause, text = '', checked = '' } = slot
  const spec = slot.spec ?? schedule?.spec
  const isShared = spec?.session !== undefined || spec?.heartbeat === true
  const { payload = {} } = cause ?? {}
  const deliver = spec?.deliver
  const place: ForgottenSlot = { schedule: slot.schedule, slotMs }
  return {
    slot: place,
    // A slot without its schedule has no owner to look up; such rows go with their schedule.
    asker: schedule?.asker.principal ?? '',
    texts: [...valuesIn(payload), text, checked]
      .filter((one) => one.trim() !== '')
      .map(toForgotten),
    ...(session !== undefined && { session, isShared }),
    ...(deliver?.to === 'session' && { deliveredTo: deliver.session }),
  }
}

/** The texts of a JSON value without the names of its fields. */
function valuesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(valuesIn)
}

const leastWords = 3

/** A word or two, such as a state, are in what others said as well. */
const toForgotten = (text: string): ForgottenText =>
  (text.match(/[\p{L}\p{N}_]+/gu) ?? []).length < leastWords ? { whole: text } : text
