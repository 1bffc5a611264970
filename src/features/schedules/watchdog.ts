import type { ScheduleGateway, ScheduleIndex } from '#runtime/session/types/schedule-object.ts'
import { keeperOf } from './own-schedules.ts'
import type { ScheduleKeeper } from '#contracts/schedule.ts'
import type { Schedule } from '#runtime/session/types/schedule.ts'
import type { Clock } from '#contracts/sources.ts'

export interface WatchdogDeps {
  readonly index: Pick<ScheduleIndex, 'late'>
  readonly gateway: ScheduleGateway
  readonly clock: Pick<Clock, 'nowMs'>
  readonly onFault: (error: unknown) => void
}

/** An owner that has said nothing for so long after a slot was due is asked. */
export const lateMs = 2 * 60_000
const maxPoked = 50

/** So often, at most, requests have an isolate look. */
const glanceMs = 60_000

/**
 * Looks whether an owner's alarm was lost: one indexed query, which finds nothing as long as no alarm was lost. Late
 * schedules are asked to look themselves, so that a slot has one writer. Never throws.
 */
export function createWatchdog({ index, gateway, clock, onFault }: WatchdogDeps) {
  return async (): Promise<void> => {
    try {
      const late = await index.late(clock.nowMs() - lateMs, maxPoked)
      const byOwner = Map.groupBy(late, keeperOf)
      const poke = ([keeper, schedules]: readonly [ScheduleKeeper, readonly Schedule[]]) =>
        gateway.ask(keeper, 'poke', { schedules }).catch(onFault)
      await Promise.all([...byOwner].map(poke))
    } catch (error) {
      onFault(error)
    }
  }
}

/**
 * The same look during a request, once a minute of an isolate at most: requests are a clock too where the trigger has
 * stopped. `undefined` where it is not time, at the cost of a comparison.
 */
export function createGlance(watch: () => Promise<void>, clock: WatchdogDeps['clock']) {
  let lastMs = -Infinity
  return (): Promise<void> | undefined => {
    const nowMs = clock.nowMs()
    if (Math.abs(nowMs - lastMs) < glanceMs) return undefined
    lastMs = nowMs
    return watch()
  }
}
