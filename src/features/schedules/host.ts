import type { PlannedJobs } from '#platform/objects/planned-job.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Schedule, ScheduleSpec, Slot } from '#runtime/session/types/schedule.ts'
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
  createChangeVerbs,
  createReadVerbs,
} from './verbs.ts'
import type { ForgottenText } from '#runtime/session/types/session-api.ts'
import {
  type HeardOfPerson,
  scheduleJob,
  type CreateScheduleHost,
  type ScheduleAnswer,
} from '#runtime/session/types/schedule-object.ts'
import { type ScheduleRows, createScheduleRows } from './rows.ts'
import type { CheckUrl } from '#contracts/outbound.ts'
import { toReply } from '#contracts/reply.ts'
import { createKeeper, type KeeperDeps } from './keeper.ts'
import { createHear } from './hear.ts'

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
) {
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
  } satisfies Partial<Verbs>
}

/**
 * Events of an erased principal that other principals' subscriptions received: `heardOf` lists where they went, so
 * that erasure goes there, then `forgetHeard` deletes them here. Firings that such an event caused count, too.
 */
const createForgetVerbs = (rows: ScheduleRows): Pick<Verbs, 'heardOf' | 'forgetHeard'> => ({
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
  return {
    slot: { schedule: slot.schedule, slotMs },
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

/** The one job of an object, as its job queue hands it out. */
interface Job {
  readonly restore: () => void
  readonly at: (timeMs: number) => void
  readonly run: (
    work: () => Promise<number | undefined>,
  ) => Promise<{ rescheduleAt: number } | undefined>
}

export interface HostDeps extends KeeperDeps {
  readonly checkUrl: CheckUrl
  readonly createJob: (jobs: PlannedJobs, id: string) => Job
}

/** Minimum delay before the next alarm, to avoid a busy loop. */
const breathMs = 100
const brokenMs = 60_000

/** The schedules of one object: its rows, its job and its verbs. */
export const createScheduleHosts =
  (deps: HostDeps): CreateScheduleHost<DurableObjectStorage> =>
  (storage, lifecycle) => {
    const rows = createScheduleRows(storage)
    const keeper = createKeeper(rows, storage, deps)
    const job = deps.createJob(lifecycle.jobs, scheduleJob)
    const nowMs = () => deps.clock.nowMs()
    let looking: Promise<void> | undefined
    /** At most one look at a time: the job and a `poke` share it. */
    const look = () => (looking ??= keeper.look().finally(() => (looking = undefined)))
    const wake = () => {
      const next = keeper.nextMs()
      if (next !== undefined) job.at(next)
    }
    const parts = { rows, keeper, storage, nowMs, checkUrl: deps.checkUrl, wake }
    const change = createChangeVerbs(parts)
    const verbs: Verbs = {
      ...change,
      ...createEditVerbs(parts, change),
      ...createReadVerbs(parts),
      ...createForgetVerbs(rows),
      hear: createHear({ ...parts, mayBegin: deps.mayBegin }),
      async poke({ schedules }) {
        for (const told of schedules) {
          const own = rows.schedule(told.id)
          // Mirrored again, so that the watchdog reads when it is really due.
          if (own) rows.put(own)
          else rows.remove(told, [])
        }
        await look()
        wake()
        return { looked: true }
      },
    }

    return {
      restore() {
        if (keeper.nextMs() === undefined) return
        job.restore()
        wake()
      },
      run: () =>
        job.run(async () => {
          await look()
          try {
            const next = keeper.nextMs()
            return next && Math.max(next, nowMs() + breathMs)
          } catch {
            return nowMs() + brokenMs
          }
        }),
      async answer({ verb, ask }) {
        await lifecycle.start()
        // Verb and `ask` are a pair of the table, as their type says; the compiler does not keep the two together.
        const answer = verbs[verb] as (given: unknown) => ScheduleAnswer | Promise<ScheduleAnswer>
        const reply = await toReply(async () => answer(ask))
        // The watchdog found the schedule late: the alarm may be lost, whatever the jobs say.
        if (verb === 'poke') await lifecycle.rearmAlarm()
        return reply
      },
    }
  }
