import type { Clock } from '#contracts/sources.ts'

/** The deadlines of a run behind one timer; each may be called off. */
export interface Deadlines {
  /** @returns Calls it off. `due` must not throw. */
  readonly after: (ms: number, due: () => void) => () => void
  /** Calls off everything. */
  readonly close: () => void
}

/**
 * The timer is armed for the earliest deadline, and stays when that is called off: most calls end long before their
 * deadline, and the next deadline is later. Then the timer goes on to the earliest one. An earlier deadline
 * replaces the timer, so that there is never more than one.
 */
export function createDeadlines(clock: Clock): Deadlines {
  const entries = new Set<{ readonly atMs: number; readonly due: () => void }>()
  let armed: { readonly atMs: number; readonly timer: AbortController } | undefined
  const armedForMs = () => armed?.atMs ?? Infinity

  function arm(atMs: number): void {
    disarm()
    const timer = new AbortController()
    armed = { atMs, timer }
    void clock.sleep(Math.max(0, atMs - clock.nowMs()), timer.signal).then(() => {
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
    if (earliest < armedForMs()) arm(earliest)
  }

  return {
    after(ms, due) {
      const entry = { atMs: clock.nowMs() + ms, due }
      entries.add(entry)
      if (entry.atMs < armedForMs()) arm(entry.atMs)
      return () => void entries.delete(entry)
    },
    close() {
      entries.clear()
      disarm()
    },
  }
}
