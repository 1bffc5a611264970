import { IsolaError } from '#contracts/errors.ts'
import type { Clock } from '#contracts/sources.ts'

/** The limits of one model call, retries included. */
export interface CallWatch {
  /** Aborts with the caller's own reason or with a `model_timeout`. */
  readonly signal: AbortSignal
  /** The same promise, or the signal's reason as soon as it aborts: not everything that waits listens to a signal. */
  readonly unlessStopped: <T>(work: Promise<T>) => Promise<T>
  /** Something arrived; from the first time on silence is limited too. */
  readonly beat: () => void
  /** Something arrived. */
  readonly hasHeard: () => boolean
  /** The pieces so far were empty: silence counts again from the next piece on. */
  readonly forget: () => void
  /** Stops the timers and lets go of the caller's signal. Call it exactly once, whatever happened. */
  readonly end: () => void
}

/** How finely silence is measured: it is noticed after 1 to 1.25 times the limit. */
const checksPerLimit = 4

/** One timer for both limits: it looks a few times within the limit of silence, and at last at the deadline. */
export function watchCall(options: {
  readonly sleep: Clock['sleep']
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly idleMs: number
}): CallWatch {
  const { sleep, signal, timeoutMs, idleMs } = options
  const stop = new AbortController()
  const ended = new AbortController()
  let quietChecks = 0
  let isListening = false

  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true })
  })
  stopped.catch(() => {})
  const onAbort = (): void => stop.abort(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })

  async function limit(): Promise<void> {
    let leftMs = timeoutMs
    while (!ended.signal.aborted && !stop.signal.aborted) {
      const waitMs = Math.min(leftMs, idleMs / checksPerLimit)
      await sleep(waitMs, ended.signal)
      if (ended.signal.aborted) return
      leftMs -= waitMs
      quietChecks = isListening ? quietChecks + 1 : 0
      if (leftMs <= 0) stop.abort(timeout(`The model did not finish within ${timeoutMs} ms.`))
      else if (quietChecks > checksPerLimit)
        stop.abort(timeout(`The model sent nothing for ${idleMs} ms.`))
    }
  }

  void limit()
  return {
    signal: stop.signal,
    unlessStopped: (work) => Promise.race([work, stopped]),
    beat() {
      quietChecks = 0
      isListening = true
    },
    hasHeard: () => isListening,
    forget: () => void (isListening = false),
    end() {
      // With a reason: without one an error is made, with its stack.
      ended.abort(over)
      signal.removeEventListener('abort', onAbort)
    },
  }
}

const over = 'The call is over.'

const timeout = (message: string): IsolaError =>
  new IsolaError('model_timeout', message, { transient: true })
