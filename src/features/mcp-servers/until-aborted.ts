import { IsolaError } from '#contracts/errors.ts'

/** The work's outcome, or `tool_cancelled` as soon as the signal aborts: the work itself may go on. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(new IsolaError('tool_cancelled', 'The call is over.'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/**
 * Ends work after `timeoutMs`, with `tool_failed`. The timer is cleared: a timer that stays would keep an object
 * awake.
 */
export async function within<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), timeoutMs)
  try {
    return await untilAborted(work(late.signal), late.signal)
  } catch (error) {
    if (!late.signal.aborted) throw error
    throw new IsolaError('tool_failed', `It took longer than ${timeoutMs / 1_000} seconds.`)
  } finally {
    clearTimeout(timer)
  }
}
