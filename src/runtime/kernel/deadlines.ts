import type { After } from '#contracts/model.ts'
import type { Clock } from '#contracts/sources.ts'

/** The deadlines of a run behind one timer; each may be called off. */
export interface Deadlines {
  readonly after: After
  /** Calls off everything. */
  readonly close: () => void
}

/** Most runs are over before, so that they set one timer, whatever deadlines their calls have. */
const firstMs = 5_000

/**
 * The timer is armed for the earliest deadline, and stays when that is called off: most calls end long before their
 * deadline, and the next deadline is later. Then the timer goes on to the earliest one. An earlier deadline
 * replaces the timer, so that there is never more than one. The first timer rings early, and goes on then.
 */
export function createDeadlines(clock: Clock): Deadlines {
  const entries = new Set<{ readonly atMs: number; readonly due: () => void }>()
  let armed: { readonly atMs: number; readonly timer: AbortController } | undefined
  const armedForMs = () => armed?.atMs ?? Infinity

  function arm(atMs: number, nowMs = clock.nowMs()): void {
    disarm()
    const timer = new AbortController()
    armed = { atMs, timer }
    void clock.sleep(Math.max(0, atMs - nowMs), timer.signal).then(() => {
      if (!timer.signal.aborted) ring(atMs)
    })
  }

  function disarm(): void {
    armed?.timer.abort('overtaken') // without a reason it would make an error with a stack, which is dear
    armed = undefined
  }

  /** The time has passed, also if the clock was set back meanwhile. */
  function ring(atMs: number): void {
    armed = undefined
    const nowMs = Math.max(atMs, clock.nowMs())
    for (const entry of entries) {
      if (entry.atMs <= nowMs && entries.delete(entry)) entry.due()
    }
    const earliest = [...entries].reduce((least, entry) => Math.min(least, entry.atMs), Infinity)
    if (earliest < armedForMs()) arm(earliest, nowMs)
  }

  return {
    after(ms, due) {
      const entry = { atMs: clock.nowMs() + ms, due }
      entries.add(entry)
      if (entry.atMs < armedForMs())
        arm(armed ? entry.atMs : Math.min(entry.atMs, clock.nowMs() + firstMs))
      return () => void entries.delete(entry)
    },
    close() {
      entries.clear()
      disarm()
    },
  }
}
