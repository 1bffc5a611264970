import { defined } from '#contracts/defined.ts'
import {
  keeperOf,
  type DeliverTo,
  type Schedule,
  type Slot,
  type SlotDelivery,
} from '#runtime/session/types/schedule.ts'
import type { Sources } from '#contracts/sources.ts'
import { expired, hourMs } from './chain.ts'
import {
  beginRun,
  isCalledFor,
  isTransient,
  lookAtRun,
  reasonOf,
  toChecked,
  type FiringDeps,
} from './firing.ts'
import type { ScheduleRows, Transactions } from './rows.ts'
import { afterSlot, leaveOfDay, today } from './settle.ts'
import {
  changeEvent,
  deliveryOf,
  maxNotices,
  reasonOfDelivery,
  stoppedEvents,
  toNotice,
} from './told.ts'

/** So often it is tried to begin it. */
const maxTries = 8
/** The most attempts to deliver one outcome. */
const maxAttempts = 8

const secondMs = 1_000
const minuteMs = 60_000

const doubled = (firstMs: number, times: number, mostMs: number): number =>
  Math.min(mostMs, firstMs * 2 ** Math.min(times, 20))

/** The delay until the next look at a run: short at first, long for a parked run. */
const lookDelayMs = (looks: number, isParked: boolean): number =>
  doubled(isParked ? 30 * secondMs : secondMs, looks, isParked ? 15 * minuteMs : minuteMs)

/** When it is tried again to begin a run: in all about twenty minutes. */
const retryDelayMs = (tries: number): number => doubled(5 * secondMs, tries, 10 * minuteMs)

/** When a delivery is tried again: in all about half an hour. */
const deliveryDelayMs = (attempts: number): number =>
  doubled(15 * secondMs, attempts, 60 * minuteMs)

export interface StepDeps extends FiringDeps, Pick<Sources, 'clock'> {
  /** Delivers a slot's outcome to its receiver, by a key that is the same each time. Throws the reason of a failure. */
  readonly deliver: (
    to: DeliverTo,
    what: { readonly schedule: Schedule; readonly slot: Slot; readonly key: string },
  ) => Promise<void>
}

/** Changes of a slot's row, each made from the row as it is by then. */
interface Changes {
  readonly change: (slot: Slot, work: (schedule: Schedule, slot: Slot) => void) => void
  /** Ends a slot, and lets the next one of its schedule begin. */
  readonly end: (schedule: Schedule, slot: Slot) => void
}

function createChanges(rows: ScheduleRows, storage: Transactions, now: () => number): Changes {
  return {
    end(schedule, slot) {
      const { id, spec } = schedule
      const after = afterSlot(schedule, slot, now())
      const stops = after.paused !== undefined && schedule.paused === undefined
      const delivery = deliveryOf(spec.deliver, slot, stops)
      const { paused: _, ...rest } = schedule
      const { spec: _was, ...ended } = slot
      const told = {
        ...ended,
        endedAtMs: now(),
        ...defined({ delivery }),
        ...(stops && after.paused && { text: `"${spec.name}" is paused: ${after.paused.reason}` }),
      }
      const isTold =
        slot.cause && slot.state === 'skipped'
          ? !rows.skippedSince(id, slot.reason ?? '', now() - hourMs)
          : false
      rows.putSlot(told, delivery ? now() : undefined)
      const by = { principal: '', trace: '', atMs: now(), reason: after.paused?.reason ?? '' }
      rows.put({ ...rest, ...after }, [
        ...(stops ? [changeEvent('schedule_paused', schedule, by)] : []),
        ...(slot.cause && isTold ? stoppedEvents(schedule, slot, slot.cause, now()) : []),
      ])
      const next = rows.open(id).find(({ state }) => state === 'queued')
      if (next) rows.putSlot(next, now())
    },
    /** Its rows are asked for again: while something was waited for they may have changed, or gone. */
    change({ schedule: id, slotMs, state, looks, run }, work) {
      storage.transactionSync(() => {
        const [schedule, slot] = [rows.schedule(id), rows.slot(id, slotMs)]
        if (!schedule || !slot || slot.state !== state || slot.looks !== looks || slot.run !== run)
          return
        work(schedule, slot)
      })
    },
  }
}

/**
 * The next thing that is to be done for a slot: begin it, ask for its run, look at it, deliver what it said. Never
 * throws.
 */
export function createStep(
  rows: ScheduleRows,
  storage: Transactions,
  deps: StepDeps,
): (slot: Slot) => Promise<void> {
  const now = () => deps.clock.nowMs()
  const { change, end } = createChanges(rows, storage, now)

  const begin = async (schedule: Schedule, slot: Slot): Promise<void> => {
    const leave = leaveOfDay(schedule, now())
    const refuse = (state: 'skipped' | 'failed', reason: string) =>
      change(slot, (current, own) => end(current, { ...own, state, reason }))
    if (schedule.paused && !slot.asked) return refuse('skipped', 'paused')
    if (slot.cause && now() >= slot.cause.chain.expiresAtMs) return refuse('skipped', expired)
    if ('why' in leave) return refuse('skipped', leave.why)
    const { agent } = schedule.spec.work
    const model = 'model' in schedule.spec.work ? { model: schedule.spec.work.model } : {}
    const { cause } = slot
    const isOthers = cause && !cause.isPublic && cause.principal !== schedule.asker.principal
    const asked = { ...schedule.asker, agent, ...model }
    if (!(await deps.mayBegin({ ...asked, ...(isOthers && { seesEverybody: true }) })))
      return refuse('failed', 'whoever made it may not ask for this any more')
    change(slot, (current, own) => {
      const spent = today(current, now())
      rows.put({ ...current, day: { ...spent, runs: spent.runs + 1 } })
      const state = current.spec.check ? 'checking' : 'running'
      const { limits } = leave
      const language = rows.setting('language')
      const began = {
        beganAtMs: now(),
        ...defined({ limits, language }),
      }
      rows.putSlot({ ...own, state, ...began, looks: 0 }, now())
    })
  }

  const submit = async (schedule: Schedule, slot: Slot): Promise<void> => {
    const begun = await beginRun(schedule, slot, deps)
    change(slot, (_, own) =>
      rows.putSlot({ ...own, ...begun, looks: 0 }, now() + lookDelayMs(0, false)),
    )
  }

  const follow = async (schedule: Schedule, slot: Slot): Promise<void> => {
    const outcome = await lookAtRun(schedule, slot, deps)
    change(slot, (current, own) => {
      if (outcome.state === 'open') {
        const delayMs = lookDelayMs(own.looks, outcome.isParked)
        return rows.putSlot({ ...own, looks: own.looks + 1 }, now() + delayMs)
      }
      const { state: _, output, reason, ...said } = outcome
      const tokens = own.tokens + said.tokens
      const costNanoUsd = own.costNanoUsd + said.costNanoUsd
      const spent = { ...own, ...said, tokens, costNanoUsd }
      if (reason !== undefined) return end(current, { ...spent, state: 'failed', reason })
      if (own.state === 'running') return end(current, { ...spent, state: 'done' })
      const { text: _text, ...checked } = spent
      const { spec = current.spec } = own
      if (!isCalledFor(spec.check ?? {}, output))
        return end(current, {
          ...checked,
          state: 'skipped',
          reason: 'its check found nothing to do',
        })
      const { session: _session, run: _run, ...next } = checked
      rows.putSlot({ ...next, checked: toChecked(output), state: 'running', looks: 0 }, now())
    })
  }

  const deliver = async (schedule: Schedule, slot: Slot, delivery: SlotDelivery): Promise<void> => {
    const key = deps.sha256(`delivery:${slot.schedule}:${slot.slotMs}`)
    const { deliver: wanted } = schedule.spec
    const to: DeliverTo = wanted.to === delivery.to ? wanted : { to: 'principal' }
    const set = (how: Partial<SlotDelivery>, lookMs?: number) =>
      change(slot, (_, own) => {
        const attempts = delivery.attempts + 1
        rows.putSlot({ ...own, delivery: { ...delivery, attempts, ...how } }, lookMs)
      })
    try {
      if (to.to === 'principal' && keeperOf(schedule) === `principal:${schedule.asker.principal}`)
        rows.addNotice(toNotice(schedule, slot, key), maxNotices)
      else await deps.deliver(to, { schedule, slot, key })
      set({ state: 'delivered', atMs: now() })
    } catch (error) {
      const isOver = delivery.attempts + 1 >= maxAttempts
      const reason = reasonOfDelivery(error)
      set(
        { error: reason, ...(isOver && { state: 'failed', atMs: now() }) },
        isOver ? undefined : now() + deliveryDelayMs(delivery.attempts),
      )
    }
  }

  const step = async (slot: Slot): Promise<void> => {
    const schedule = rows.schedule(slot.schedule)
    if (!schedule) return
    try {
      if (slot.delivery?.state === 'waiting') return await deliver(schedule, slot, slot.delivery)
      if (slot.state === 'queued') return await begin(schedule, slot)
      return await (slot.run === undefined ? submit(schedule, slot) : follow(schedule, slot))
    } catch (error) {
      change(slot, (current, own) => {
        // A firing whose run has begun goes on, although its session does not answer now.
        if (isTransient(error) && (own.run !== undefined || own.looks < maxTries))
          return rows.putSlot({ ...own, looks: own.looks + 1 }, now() + retryDelayMs(own.looks))
        end(current, { ...own, state: 'failed', reason: reasonOf(error) })
      })
    }
  }

  return step
}
