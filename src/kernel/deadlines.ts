import type { Clock } from '#contracts/sources.ts'

/** What is to happen at its time, unless it is called off before: all of a run behind one timer. */
export interface Deadlines {
  /** @returns Calls it off. `due` must not throw. */
  readonly after: (ms: number, due: () => void) => () => void
  /** Calls off everything. */
  readonly close: () => void
}

/**
 * A timer is armed for the earliest moment and not moved when that is called off: most calls end long before their
 * time, and the next one's is later than the timer's, which then goes on to whatever is the earliest.
 */
export function createDeadlines(clock: Clock): Deadlines {
  const entries = new Set<{ readonly atMs: number; readonly due: () => void }>()
  const closed = new AbortController()
  let armedForMs = Infinity

  function arm(atMs: number): void {
    armedForMs = atMs
    const ms = Math.max(0, atMs - clock.nowMs())
    void clock.sleep(ms, closed.signal).then(() => {
      // A timer that was overtaken by an earlier one has nothing to do.
      if (!closed.signal.aborted && armedForMs === atMs) ring()
    })
  }

  function ring(): void {
    armedForMs = Infinity
    for (const entry of entries) {
      if (entry.atMs <= clock.nowMs() && entries.delete(entry)) entry.due()
    }
    const earliest = [...entries].reduce((least, { atMs }) => Math.min(least, atMs), Infinity)
    if (earliest < armedForMs) arm(earliest)
  }

  return {
    after(ms, due) {
      const entry = { atMs: clock.nowMs() + ms, due }
      entries.add(entry)
      if (entry.atMs < armedForMs) arm(entry.atMs)
      return () => void entries.delete(entry)
    },
    close() {
      entries.clear()
      closed.abort('closed') // without a reason it would make an error with a stack, which is dear
    },
  }
}
