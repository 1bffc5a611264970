import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Schedule, ScheduleSpec } from '#runtime/session/types/schedule.ts'
import { nextSlot } from './slots.ts'
import { changeEvent } from './told.ts'
import {
  checkDelivery,
  findIn,
  isLike,
  neverDue,
  toView,
  type VerbParts,
  type Verbs,
} from './verbs.ts'

/** Why an agent's schedules are paused while it is archived or waits, and which of them go on when it does. */
const agentArchived = 'its agent does not run'

/** The names of what differs, for the record. */
const changesOf = (spec: ScheduleSpec, was: ScheduleSpec): string =>
  Object.keys({ ...was, ...spec })
    .filter((name) => !isLike(Object(spec)[name], Object(was)[name]))
    .join(', ')

/** Verbs that change existing schedules: one schedule, or all schedules of one agent. */
export function createEditVerbs(
  { rows, keeper, storage, nowMs, checkUrl, wake }: VerbParts,
  verbs: Pick<Verbs, 'pause' | 'resume' | 'remove'>,
): Pick<Verbs, 'edit' | 'ofAgent'> {
  const find = findIn(rows)
  return {
    edit({ spec, was, asker, by, isDryRun, ...asked }) {
      const schedule = find(asked)
      if (!isLike(schedule.spec, was)) {
        const message = 'It was changed meanwhile: look at it, and change it again.'
        throw new IsolaError('request_conflict', message)
      }
      checkDelivery(spec, checkUrl)
      const atMs = nowMs()
      const isDueOtherwise = !isLike(spec.when, was.when)
      const nextMs = isDueOtherwise ? nextSlot(spec.when, atMs) : schedule.nextMs
      if (isDueOtherwise && nextMs === undefined) throw neverDue()
      const { nextMs: _, ...rest } = schedule
      const changed = { ...rest, spec, asker, ...defined({ nextMs }) }
      if (isDryRun) return toView(changed)
      const edited = storage.transactionSync(() => {
        // Old times have rows up to now, new times from now on: no moment is in both.
        const before = isDueOtherwise ? keeper.settle(schedule, { isNow: true }) : schedule
        if (isDueOtherwise && (before.nextMs ?? Infinity) <= atMs) {
          const message =
            'Slots that are due wait for earlier ones: change its times once they have ended.'
          throw new IsolaError('request_conflict', message)
        }
        rows.pin(schedule.id, was)
        const reason = changesOf(spec, was)
        const event = changeEvent('schedule_changed', changed, { ...by, atMs, reason })
        return rows.put({ ...changed, version: before.version }, [event])
      })
      wake()
      return toView(edited)
    },
    async ofAgent({ agent, does, but = [], by }) {
      const all = rows
        .schedules()
        .filter(({ id, owner }) => owner === `agent:${agent}` && !but.includes(id))
      const isMeant = ({ paused }: Schedule) =>
        does === 'remove' || (does === 'pause' ? !paused : paused?.reason === agentArchived)
      const meant = all.filter(isMeant)
      for (const { id } of meant) await verbs[does]({ id, by, reason: agentArchived })
      return { changed: meant.length }
    },
  }
}
