import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import { OutboundError, type CheckUrl } from '#contracts/outbound.ts'
import type { ScheduleVerb, ScheduleVerbs } from '#runtime/session/types/schedule-object.ts'
import type { Schedule, ScheduleSpec, ScheduleView } from '#runtime/session/types/schedule.ts'
import type { Keeper } from './keeper.ts'
import type { ScheduleRows, Transactions } from './rows.ts'
import { isWanted } from './chain.ts'
import { nextSlot, nextSlots } from './slots.ts'
import { changeEvent, maxNotices, nothingSpent } from './told.ts'

/** The answer of an object to each verb. */
export type Verbs = {
  readonly [Verb in ScheduleVerb]: (
    ask: ScheduleVerbs[Verb]['ask'],
  ) => ScheduleVerbs[Verb]['answer'] | Promise<ScheduleVerbs[Verb]['answer']>
}

export interface VerbParts {
  readonly rows: ScheduleRows
  readonly keeper: Keeper
  readonly storage: Transactions
  readonly nowMs: () => number
  readonly checkUrl: CheckUrl
  /** There may be something to do sooner than was planned. */
  readonly wake: () => void
}

const maxSchedules = 100
const shownSlots = 5
const maxKeyed = 100

/** A unique timestamp after all slots; never a whole second, so that it cannot collide with a cron slot. */
export function freeMoment(rows: ScheduleRows, id: string, nowMs: number): number {
  const last = rows.slots(id, { limit: 1 })[0]?.slotMs ?? 0
  const next = Math.max(nowMs, last + 1)
  return next % 1_000 === 0 ? next + 1 : next
}

/** A schedule that does not exist and another principal's schedule look alike. */
export const findIn =
  (rows: ScheduleRows) =>
  ({ id, principal }: { readonly id: string; readonly principal?: string }): Schedule => {
    const schedule = rows.schedule(id)
    if (schedule && (principal === undefined || schedule.asker.principal === principal))
      return schedule
    throw new IsolaError('request_not_found', 'There is no such schedule.')
  }

export const toView = (schedule: Schedule): ScheduleView => {
  const { nextMs, paused, spec } = schedule
  const next =
    nextMs === undefined || paused ? [] : [nextMs, ...nextSlots(spec.when, nextMs, shownSlots - 1)]
  return { ...schedule, next }
}

/** Verbs that only read: none of them moves a slot. */
export function createReadVerbs({ rows }: VerbParts) {
  const find = findIn(rows)
  return {
    list: ({ limit }) =>
      rows
        .schedules()
        .filter(({ spec }) => !isWanted(spec.when))
        .slice(0, limit)
        .map(toView),
    show: (asked) => toView(find(asked)),
    history({ limit, beforeMs, state, ...asked }) {
      const { id } = find(asked)
      return rows.slots(id, { limit, ...defined({ beforeMs, state }) })
    },
    notices: ({ limit }) => rows.notices(limit),
    notify({ notice }) {
      rows.addNotice(notice, maxNotices)
      return { id: notice.id }
    },
    dismiss({ id }) {
      if (!rows.dropNotice(id))
        throw new IsolaError('request_not_found', 'There is no such notice.')
      return { id, deleted: true }
    },
    settings({ set }) {
      if (set?.timeZone !== undefined) rows.set('time_zone', set.timeZone)
      if (set?.language !== undefined) rows.set('language', set.language)
      const language = rows.setting('language')
      return { timeZone: rows.setting('time_zone') ?? 'UTC', ...defined({ language }) }
    },
  } satisfies Partial<Verbs>
}

export const isLike = (one: unknown, other: unknown) =>
  JSON.stringify(one) === JSON.stringify(other)

export const neverDue = () =>
  new IsolaError('request_invalid', 'when: it is never due from now on.', { param: 'when' })

/** An address that nothing could ever leave for is refused before anything is to be delivered. */
export function checkDelivery({ deliver }: ScheduleSpec, checkUrl: CheckUrl): void {
  if (deliver.to !== 'webhook') return
  try {
    checkUrl(deliver.url)
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const message = `deliver.url: must be an https address of a public host. ${error.message}`
    throw new IsolaError('request_invalid', message, { param: 'deliver.url' })
  }
}

/** Verbs that make, stop or fire one. */
export function createChangeVerbs({
  rows,
  keeper,
  storage,
  nowMs,
  checkUrl,
  wake,
}: VerbParts): Pick<Verbs, 'add' | 'pause' | 'resume' | 'run' | 'remove'> {
  const find = findIn(rows)
  const changed = (schedule: Schedule): ScheduleView => {
    wake()
    return toView(schedule)
  }
  return {
    add({ schedule: { id, owner, asker, spec }, by, isDryRun }) {
      const there = rows.schedule(id)
      if (there) {
        if (isLike(there.spec, spec)) return toView(there)
        const message = 'This idempotency key came with another schedule.'
        throw new IsolaError('request_idempotency_mismatch', message)
      }
      checkDelivery(spec, checkUrl)
      const atMs = nowMs()
      const nextMs = nextSlot(spec.when, atMs)
      if (nextMs === undefined && !isWanted(spec.when)) throw neverDue()
      if (rows.schedules().length >= maxSchedules)
        throw new IsolaError(
          'request_conflict',
          `There are ${maxSchedules} schedules already: remove one first.`,
        )
      const day = { day: '', runs: 0, tokens: 0, costNanoUsd: 0 }
      const made = { id, owner, asker, spec, createdAtMs: atMs, failures: 0, day }
      const schedule: Schedule = { ...made, ...defined({ nextMs }), version: 0 }
      if (isDryRun) return toView(schedule)
      return changed(rows.put(schedule, [changeEvent('schedule_added', schedule, { ...by, atMs })]))
    },
    pause({ reason, by, ...asked }) {
      const schedule = find(asked)
      if (schedule.paused) return toView(schedule)
      const atMs = nowMs()
      // Slots that are due already are not lost to the pause.
      const settled = storage.transactionSync(() => keeper.settle(schedule))
      const paused = { atMs, reason, by: by.principal }
      const event = changeEvent('schedule_paused', schedule, { ...by, atMs, reason })
      return changed(rows.put({ ...settled, paused }, [event]))
    },
    resume({ by, ...asked }) {
      const schedule = find(asked)
      if (!schedule.paused) return toView(schedule)
      const atMs = nowMs()
      // Slots that fell due during the pause are in its history as skipped; of very many only the first.
      const {
        paused: _,
        nextMs: _old,
        ...rest
      } = storage.transactionSync(() => keeper.settle(schedule))
      const nextMs = nextSlot(schedule.spec.when, atMs)
      const running = { ...rest, failures: 0, ...defined({ nextMs }) }
      return changed(
        rows.put(running, [changeEvent('schedule_resumed', schedule, { ...by, atMs })]),
      )
    },
    run({ key, id: named, principal }) {
      const { id } = find({ id: named, ...defined({ principal }) })
      const known = rows
        .slots(id, { limit: maxKeyed })
        .find((slot) => key !== undefined && slot.asked?.key === key)
      if (known) return known
      const slotMs = freeMoment(rows, id, nowMs())
      const asked = defined({ key })
      const slot = { schedule: id, slotMs, state: 'queued', asked, ...nothingSpent } as const
      keeper.enqueue(slot)
      wake()
      return slot
    },
    remove({ by, ...asked }) {
      const schedule = find(asked)
      rows.remove(schedule, [changeEvent('schedule_removed', schedule, { ...by, atMs: nowMs() })])
      wake()
      return { id: schedule.id, deleted: true }
    },
  }
}
