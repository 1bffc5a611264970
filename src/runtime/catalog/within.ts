import type { Clock } from '#contracts/sources.ts'

/** The result of `work`, or `late` after so many milliseconds. Rejects as `work` does. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | 'late'> {
  const done = new AbortController()
  const late = clock.sleep(ms, done.signal).then(() => 'late' as const)
  return Promise.race([work, late]).finally(() => done.abort())
}
