import type { Clock } from '#contracts/sources.ts'

/** Does work for each item, for at most `width` of them at the same time. */
export async function sideBySide<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items]
  const workOff = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) await work(next)
  }
  await Promise.all(Array.from({ length: Math.min(width, waiting.length) }, workOff))
}

/** The answer, or `undefined` if it fails or takes longer than `answerMs`: a session that hangs holds up no other. */
export async function answerWithin<T>(
  answerMs: number,
  clock: Clock,
  ask: () => Promise<T>,
): Promise<T | undefined> {
  const late = new AbortController()
  try {
    return await Promise.race([ask(), clock.sleep(answerMs, late.signal).then(() => undefined)])
  } catch {
    return undefined
  } finally {
    late.abort()
  }
}
