import { setTimeout as pause } from 'node:timers/promises'

export const sleepUntil = (ms: number, signal: AbortSignal): Promise<void> =>
  pause(ms, undefined, { signal }).catch(() => {})

/** Does work that goes on until Ctrl-C, or until the signal that a test gives. */
export async function untilStopped(
  given: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  const end = () => stop.abort()
  process.on('SIGINT', end)
  try {
    await work(given ?? stop.signal)
  } finally {
    process.removeListener('SIGINT', end)
  }
}
