import type { Lifecycle } from 'agents/lifecycle'
import type { SessionRuntime } from './types/runtime.ts'
import { bookRest } from './upkeep/rest-bill.ts'
import type { SessionParts } from './session-parts.ts'
import type { Meter } from './storage/meter.ts'
import { createWakeWatch } from './upkeep/wake-loop.ts'

/** What of an object's life is no run's: its alarms, and what is counted while none is at work. */
export interface Rings {
  /** The alarm has come: it is dealt with, and pushed out if it comes again and again. */
  readonly ring: () => Promise<void>
  /** What no run is booked with, where none is at work, is the deployment's. Never throws. */
  readonly bookRest: () => void
}

export interface RingsOptions {
  readonly runtime: SessionRuntime
  readonly storage: Pick<DurableObjectStorage, 'getAlarm'>
  readonly meter: Meter
  readonly lifecycle: Pick<Lifecycle, 'alarm'>
  readonly parts: () => SessionParts
}

export function createRings({ runtime, storage, meter, lifecycle, parts }: RingsOptions): Rings {
  const wakes = createWakeWatch({
    clock: runtime.clock,
    recoverEveryMs: runtime.timing.recoverEveryMs,
    storage,
    async setAlarm(time) {
      const { timers, upkeep } = parts()
      // Whoever has something to do sooner sets it sooner: they must not think that it is.
      upkeep.alarmMoved()
      await timers.setAlarm(time)
    },
    progress: () => parts().store.lastSeq(),
    report: (...about) => parts().upkeep.report(...about),
  })
  const rest = () => {
    const { runs, outbox } = parts()
    bookRest({ runs, outbox, meter, deployment: runtime.deployment })
  }
  return {
    bookRest: rest,
    async ring() {
      meter.count({ requests: 1 })
      await parts().timers.ring()
      await lifecycle.alarm()
      // A disk that fails is no loop, and is reported as what it is.
      await wakes.rang().catch(() => {})
      rest()
    },
  }
}
