import type { ScheduleGateway, ScheduleIndex } from '#contracts/schedule-object.ts'
import type { Schedule } from '#contracts/schedule.ts'
import type { Clock } from '#contracts/sources.ts'

export interface WatchdogDeps {
  readonly index: Pick<ScheduleIndex, 'late'>
  readonly gateway: Pick<ScheduleGateway, 'ask'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly onFault: (error: unknown) => void
}

/** An owner that has said nothing for so long after a slot was due is asked. */
export const lateMs = 2 * 60_000
const maxPoked = 50

/**
 * Looks whether an owner's alarm was lost: one indexed question, which finds nothing as long as none was. Those that
 * are late are asked to look themselves, so that a slot has one writer whoever notices. Never throws.
 */
export function createWatchdog({ index, gateway, clock, onFault }: WatchdogDeps) {
  return async (): Promise<void> => {
    try {
      const late = await index.late(clock.nowMs() - lateMs, maxPoked)
      const byOwner = Map.groupBy(late, ({ owner }) => owner)
      const poke = ([owner, schedules]: readonly [Schedule['owner'], readonly Schedule[]]) =>
        gateway.ask(owner, 'poke', { schedules }).catch(onFault)
      await Promise.all([...byOwner].map(poke))
    } catch (error) {
      onFault(error)
    }
  }
}
