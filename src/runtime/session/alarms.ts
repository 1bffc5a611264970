import type { Lifecycle } from 'agents/lifecycle'
import type { SessionRuntime } from './types/runtime.ts'
import type { SessionParts } from './session-parts.ts'
import type { Meter } from './storage/meter.ts'
import { bookRest } from './upkeep/after-run.ts'
import { createWakeWatch } from './upkeep/wake-loop.ts'

export interface AlarmsOptions {
  readonly runtime: SessionRuntime
  readonly storage: Pick<DurableObjectStorage, 'getAlarm'>
  readonly meter: Meter
  readonly lifecycle: Pick<Lifecycle, 'alarm'>
  readonly current: { readonly parts: SessionParts }
}

/** The alarms of a session's object, and the bill for work of the object that belongs to no run. */
export function createAlarms({ runtime, storage, meter, lifecycle, current }: AlarmsOptions) {
  const wakes = createWakeWatch({
    clock: runtime.clock,
    recoverEveryMs: runtime.timing.recoverEveryMs,
    storage,
    async setAlarm(time) {
      const { timers, upkeep } = current.parts
      // Invalidates the cached time of the alarm, so that an earlier job sets the alarm again.
      upkeep.alarmMoved()
      await timers.setAlarm(time)
    },
    progress: () => current.parts.store.lastSeq(),
    report: (...about) => current.parts.upkeep.report(...about),
  })
  const book = () => bookRest({ ...current.parts, meter, deployment: runtime.deployment })
  return {
    /** Books platform use that belongs to no run, while none is live. Never throws. */
    bookRest: book,
    /** The alarm has come: does the work of its jobs, and delays alarms that come again and again. */
    async ring(): Promise<void> {
      meter.count({ requests: 1 })
      await current.parts.timers.ring()
      await lifecycle.alarm()
      // A failing disk is no loop of alarms; its readers report it.
      await wakes.rang().catch(() => {})
      book()
    },
  }
}
