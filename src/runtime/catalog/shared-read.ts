import type { Clock } from '#contracts/sources.ts'

/** So old may be what somebody believes to be in force. */
export const freshMs = 250
/** Nobody waits longer for an answer. */
export const maxReadMs = 5_000
/** So long a failed read is what everybody is told. */
const failedMs = 1_000
/** After no answer at all nobody waits for one, until there is one, or for so long. */
const silentMs = 10_000
/** A read that takes longer is asked anew, beside it: whoever asked may be gone, and with it the answer. */
const takeOverMs = 1_000

export interface SharedReadDeps<T> {
  readonly clock: Clock
  /** Told what was read last, and when that was asked. May throw. */
  readonly read: (known: T | undefined) => Promise<T>
  readonly unavailable: () => Error
}

/** So long a read may take whose only purpose is to see that somebody answers. */
const maxDoubtMs = 250
/** Whoever waits for what another asks looks this often at most. */
const maxPauseMs = 50

interface Flight {
  readonly atMs: number
  /** Whether there was an answer, of use or not. */
  readonly done: Promise<boolean>
}

/** One read in flight for all who wait. */
export interface SharedRead<T> {
  /** At most `freshMs` old. Throws if there is no answer within `maxReadMs`; not again, in vain, for a while. */
  readonly now: () => Promise<T>
  /** As it is when this is called, or later; throws as `now` does. All who ask at once are one read, at most four a second. */
  readonly latest: () => Promise<T>
  readonly last: () => T | undefined
  /** What was read is not believed any more, nor what is being read. */
  readonly forget: () => void
  /** Throws at once while nobody answers; asks without waiting whether somebody does again. */
  readonly refuseIfAway: () => void
  /** An answer to something else did not come. */
  readonly missed: () => void
  /** The same, of something that may take long by itself: whoever does not answer a read either does not answer. */
  readonly doubt: () => Promise<void>
  /** Whether somebody waited in vain a moment ago, and nothing was heard since. */
  readonly isSilent: () => boolean
  /** Somebody else waited in vain: nobody does here, unless something was heard just now. */
  readonly heardOfSilence: () => void
}

/**
 * Requests and objects of one isolate share what one of them reads. Whoever did not ask itself looks every few
 * milliseconds whether the answer is there, by its own clock: no object waits for a promise of another, which may end
 * before it has an answer.
 */
export function createSharedRead<T>({
  clock,
  read,
  unavailable,
}: SharedReadDeps<T>): SharedRead<T> {
  let held: { readonly value: T; readonly atMs: number } | undefined
  let notBefore = 0
  let flight: Flight | undefined
  let forcedAtMs: number | undefined
  let failedAtMs: number | undefined
  let isSilent = false

  const note = (outcome: 'answered' | 'failed' | 'silent'): void => {
    failedAtMs = outcome === 'answered' ? undefined : clock.nowMs()
    isSilent = outcome === 'silent'
  }
  const since = (atMs: number | undefined): number =>
    atMs === undefined ? Infinity : Math.max(0, clock.nowMs() - atMs)
  const isFresh = () =>
    held !== undefined && clock.nowMs() >= held.atMs && since(held.atMs) < freshMs
  /** Begins a read, unless one is on its way. */
  const begin = () => {
    if (flight && since(flight.atMs) < takeOverMs) return flight
    const atMs = clock.nowMs()
    const from = notBefore
    const take = (value: T) => {
      // What came in late does not bring back what was before.
      if (from === notBefore && (!held || held.atMs <= atMs)) held = { value, atMs }
      note('answered')
      return true
    }
    const fail = () => {
      note('failed')
      return false
    }
    const again = () => read(held?.value)
    // Who was cut off once is asked once more: an object that was killed is there again at once.
    const done = again()
      .catch(again)
      .then(take, fail)
      .finally(() => {
        if (flight === mine) flight = undefined
      })
    const mine = { atMs, done }
    flight = mine
    return mine
  }
  const isAway = () => isSilent && since(failedAtMs) < silentMs
  const refuseIfAway = (): void => {
    if (since(failedAtMs) < failedMs) throw unavailable()
    if (!isAway()) return
    begin()
    throw unavailable()
  }
  /** What is being read, or is read anew. */
  const awaited = async (): Promise<T> => {
    refuseIfAway()
    // Who has waited in vain looks in again now and then, and not for as long.
    const untilMs = clock.nowMs() + (isSilent ? takeOverMs : maxReadMs)
    let pauseMs = 1
    let first: Flight | undefined
    for (;;) {
      const leftMs = untilMs - clock.nowMs()
      if (leftMs <= 0) {
        note('silent')
        throw unavailable()
      }
      const before = flight
      const mine = begin()
      first ??= mine
      // Beside one that takes long the answer may come from either.
      if (mine === before || mine !== first)
        await clock.sleep(Math.min(leftMs, (pauseMs = Math.min(pauseMs * 2, maxPauseMs))))
      else await isAnswered(mine, clock, Math.min(leftMs, takeOverMs))
      if (held && held.atMs >= first.atMs) return held.value
      if (flight === undefined && failedAtMs !== undefined) throw unavailable()
    }
  }
  return {
    last: () => held?.value,
    forget() {
      notBefore += 1
      held = held && { ...held, atMs: -Infinity }
      flight = undefined
    },
    refuseIfAway,
    missed: () => note('silent'),
    async doubt() {
      flight = undefined
      // By itself: what it brought may have been given up meanwhile.
      if (!(await isAnswered(begin(), clock, maxDoubtMs))) note('silent')
    },
    isSilent: isAway,
    heardOfSilence() {
      if (isFresh() || isAway()) return
      note('silent')
      begin()
    },
    async now() {
      if (isFresh()) return held!.value
      return awaited()
    },
    async latest() {
      const askedAtMs = clock.nowMs()
      const isNew = (one?: Pick<Flight, 'atMs'>) => one !== undefined && one.atMs >= askedAtMs
      const pauseMs = freshMs - since(forcedAtMs)
      // Whoever names what there is not makes no more reads than whoever names what there is.
      if (!isNew(flight) && pauseMs > 0) {
        await clock.sleep(pauseMs)
        if (isNew(held)) return held!.value
      }
      if (!isNew(flight)) {
        flight = undefined
        forcedAtMs = clock.nowMs()
      }
      return awaited()
    },
  }
}

/** Waits until the read is done, or for so long. */
async function isAnswered({ done }: Flight, clock: Clock, ms: number): Promise<boolean> {
  const late = new AbortController()
  const waited = clock.sleep(ms, late.signal).then(() => false)
  return Promise.race([done, waited]).finally(() => late.abort())
}
