import { OutboundError } from '#contracts/outbound.ts'
import type { Clock } from '#contracts/sources.ts'

/** The time of one request and its answer. */
export interface Deadline {
  /** Ends what is under way: when it is late, or when the caller says so. */
  readonly signal: AbortSignal | undefined
  /** The work's outcome; rejects with `late` as soon as the time is up. */
  readonly within: <T>(work: Promise<T>) => Promise<T>
  /** Why it is over before its end, if it is. */
  readonly problem: (cause?: unknown) => OutboundError | undefined
  /** Clears the timer: a timer that stays would keep an object awake. */
  readonly end: () => void
}

/** Counts from now. Without a time only the caller's signal ends the request, and nothing is put in between. */
export function startDeadline(
  timeoutMs: number | undefined,
  { sleep, signal }: { readonly sleep: Clock['sleep']; readonly signal: AbortSignal | undefined },
): Deadline {
  const aborted = (cause?: unknown) =>
    signal?.aborted === true
      ? new OutboundError('aborted', 'The request was aborted.', cause)
      : undefined
  if (timeoutMs === undefined)
    return { signal, within: (work) => work, problem: aborted, end: () => {} }
  const over = new AbortController()
  const done = new AbortController()
  const ended = signal ? AbortSignal.any([done.signal, signal]) : done.signal
  const tooLate = () => new OutboundError('late', 'The request took too long.')
  const late = new Promise<never>((_resolve, reject) => {
    void sleep(timeoutMs, ended).then(() => {
      if (ended.aborted) return
      over.abort()
      reject(tooLate())
    })
  })
  // The caller may have stopped waiting.
  late.catch(() => {})
  return {
    signal: signal ? AbortSignal.any([over.signal, signal]) : over.signal,
    within: (work) => Promise.race([work, late]),
    problem: (cause) => (over.signal.aborted ? tooLate() : aborted(cause)),
    end: () => done.abort(),
  }
}
