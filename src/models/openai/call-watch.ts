import { IsolaError } from '#contracts/errors.ts'
import type { Clock } from '#contracts/sources.ts'

/** The limits of one model call, retries included. */
export interface CallWatch {
  /** Aborts with the caller's own reason or with a `model_timeout`. */
  readonly signal: AbortSignal
  /** Something arrived; from the first time on silence is limited too. */
  readonly beat: () => void
  /** Something arrived. */
  readonly hasHeard: () => boolean
  /** What arrived was nothing: silence counts again from the next piece on. */
  readonly forget: () => void
  /** Stops the timers and lets go of the caller's signal. Call it exactly once, whatever happened. */
  readonly end: () => void
}

/** How finely silence is measured: it is noticed after 1 to 1.25 times the limit. */
const checksPerLimit = 4

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
  let isMeasured = false

  const onAbort = (): void => stop.abort(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })

  async function limitTotal(): Promise<void> {
    await sleep(timeoutMs, ended.signal)
    if (!ended.signal.aborted)
      stop.abort(timeout(`The model did not finish within ${timeoutMs} ms.`))
  }

  async function limitSilence(): Promise<void> {
    while (!ended.signal.aborted && !stop.signal.aborted) {
      await sleep(idleMs / checksPerLimit, ended.signal)
      quietChecks = isListening ? quietChecks + 1 : 0
      if (quietChecks > checksPerLimit && !ended.signal.aborted) {
        stop.abort(timeout(`The model sent nothing for ${idleMs} ms.`))
      }
    }
  }

  void limitTotal()
  return {
    signal: stop.signal,
    beat() {
      quietChecks = 0
      isListening = true
      if (isMeasured) return
      isMeasured = true
      void limitSilence()
    },
    hasHeard: () => isListening,
    forget: () => void (isListening = false),
    end() {
      ended.abort()
      signal.removeEventListener('abort', onAbort)
    },
  }
}

const timeout = (message: string): IsolaError =>
  new IsolaError('model_timeout', message, { transient: true })
