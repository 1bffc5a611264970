import type { HeldPart } from './types/generation.ts'
import type { PartListener } from './types/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { freshMs } from './shared-read.ts'

/** A listener comes again after so long: what broke without a word is forgotten by then. */
const maxHoldMs = 30_000
/** Nobody who listens holds up a change for longer. */
const maxTellMs = 500
/** For the way of an answer to whoever asked. */
const graceMs = 50

/** Who works with which part, and until when somebody may believe in what was. */
export function createPartHolds(clock: Clock) {
  const holds = new Set<{ readonly part: HeldPart; readonly told: () => Promise<void> }>()
  const readers = new Map<string, number>()
  return {
    /** Somebody was told what is in force. */
    note(reader: string): void {
      const nowMs = clock.nowMs()
      for (const [one, atMs] of readers) if (nowMs - atMs > freshMs + graceMs) readers.delete(one)
      readers.set(reader, nowMs)
    },
    /** Until nobody but this one believes in what was. */
    async forgotten(reader: string): Promise<void> {
      const others = [...readers].filter(([one]) => one !== reader).map(([, atMs]) => atMs)
      const leftMs = Math.max(...others, 0) + freshMs + graceMs - clock.nowMs()
      if (others.length > 0 && leftMs > 0) await clock.sleep(leftMs)
    },
    /** Waits until the part is gone, or whoever holds it is done. */
    async hold(part: HeldPart, listener: PartListener): Promise<void> {
      const late = new AbortController()
      const { promise: gone, resolve } = Promise.withResolvers<void>()
      const told = async () => {
        await within(clock, maxTellMs, listener.gone())
        resolve()
      }
      const hold = { part, told }
      holds.add(hold)
      const over = listener.over().catch(() => {})
      await Promise.race([gone, over, clock.sleep(maxHoldMs, late.signal)])
      late.abort()
      holds.delete(hold)
    },
    /** Tells those who hold what is not in force any more, and waits until each has ended what ran under it. */
    async tell(stands: (part: HeldPart) => boolean): Promise<void> {
      const concerned = [...holds].filter(({ part }) => !stands(part))
      await Promise.all(concerned.map(({ told }) => told()))
    },
  }
}

/** What cannot be told any more has ended. */
async function within(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
  const done = new AbortController()
  await Promise.race([work.catch(() => {}), clock.sleep(ms, done.signal)])
  done.abort()
}
