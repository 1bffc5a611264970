import {
  whyEnded,
  type CredentialState,
  type EndedCredential,
  type HeldWorkRequest,
} from '#contracts/held-work.ts'
import type { SessionGateway } from '#contracts/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { CredentialRow, HeldRows, HolderRow } from './held-rows.ts'

/** So many sessions are told side by side. */
const width = 32
/** A session that hangs must not hold up the others. */
const answerMs = 5_000
/** How soon what could not be looked up or told is tried again, at first and at most. */
const [againMs, maxAgainMs] = [1_000, 60_000]

export interface CredentialWatchOptions {
  readonly rows: HeldRows
  /** May throw `request_unavailable`. */
  readonly stateOf: (id: string) => Promise<CredentialState>
  readonly sessions: Pick<SessionGateway, 'at'>
  readonly clock: Clock
  /** While somebody works, the database is asked this often, should nobody have told what changed. Milliseconds. */
  readonly checkEveryMs: number
  /** When `look` is to be called again, at the latest. Written in the same go as what needs it. */
  readonly wakeAt: (timeMs: number) => void
}

/**
 * Knows which sessions work with which key or sign-in, and has them cancel it when that ends. Nothing slips through: a
 * session is noted before the database is asked about its key, so that whoever takes the key back, and then asks for
 * `look`, finds it here; and what is known to have ended is said to whoever comes later.
 */
export interface CredentialWatch {
  /** One synchronous step. @returns What is known to have ended; what turns out to have is told. */
  readonly hold: (request: HeldWorkRequest) => EndedCredential | undefined
  readonly release: (request: HeldWorkRequest) => void
  /** Asks the database about all that is held, and tells whom it concerns. Never rejects. @returns When to look again. */
  readonly look: () => Promise<number | undefined>
  readonly isNeeded: () => boolean
}

export function createCredentialWatch(options: CredentialWatchOptions): CredentialWatch {
  const { rows, stateOf, clock, checkEveryMs, wakeAt } = options
  let failures = 0

  const check = async (ids: readonly string[]): Promise<boolean> => {
    const results = await Promise.allSettled(
      ids.map(async (id) => rows.note(id, await stateOf(id))),
    )
    return results.every(({ status }) => status === 'fulfilled')
  }
  const untold = () =>
    rows.credentials().flatMap((row) => {
      const ended = endedOf(row)
      return ended ? rows.holders(ended.id).map((holder) => ({ ended, holder })) : []
    })
  /** @returns Whether everybody was reached. */
  const tell = async (): Promise<boolean> => {
    const waiting = [...untold()]
    let areReached = true
    const work = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        const { ended, holder } = next
        if (await isTold(ended, holder, options)) rows.release(ended.id, holder)
        else areReached = false
      }
    }
    await Promise.all(Array.from({ length: Math.min(width, waiting.length) }, work))
    return areReached
  }
  const nextMs = (isWell: boolean): number | undefined => {
    const held = rows.credentials().filter(({ id }) => rows.holders(id).length > 0)
    if (held.length === 0) return undefined
    const nowMs = clock.nowMs()
    const isDone = isWell && held.every(({ isChecked, ended }) => isChecked && !ended)
    failures = isDone ? 0 : failures + 1
    const everyMs = isDone ? checkEveryMs : Math.min(againMs * 2 ** (failures - 1), maxAgainMs)
    const ends = held.flatMap(({ ended, endsAtMs }) => (ended ? [] : (endsAtMs ?? [])))
    return Math.min(nowMs + everyMs, ...ends.map((endMs) => Math.max(endMs, nowMs + againMs)))
  }
  const checkAndTell = async (ids: readonly string[]): Promise<number | undefined> => {
    const isChecked = await check(ids)
    const isTold = await tell()
    return nextMs(isChecked && isTold)
  }
  const soon = async (ids: readonly string[]) => {
    const timeMs = await checkAndTell(ids)
    if (timeMs !== undefined) wakeAt(timeMs)
  }

  const retry = () => wakeAt(clock.nowMs() + againMs)

  return {
    hold({ session, credentials, upTo }) {
      for (const id of credentials) rows.hold(id, { session, upTo })
      wakeAt(clock.nowMs() + checkEveryMs)
      const known = credentials.map((id) => rows.credential(id))
      const ended = known.flatMap((row) => (row && endedOf(row)) ?? [])[0]
      const unchecked = known.flatMap((row) => (row && !row.isChecked ? [row.id] : []))
      if (ended || unchecked.length > 0) soon(unchecked).catch(retry)
      return ended
    },
    release({ session, credentials, upTo }) {
      for (const id of credentials) rows.release(id, { session, upTo })
    },
    async look() {
      try {
        rows.prune()
        const open = rows.credentials().filter(({ ended }) => ended === undefined)
        return await checkAndTell(open.map(({ id }) => id))
      } catch {
        return clock.nowMs() + maxAgainMs // the object's storage cannot be read just now
      }
    },
    isNeeded: () => rows.credentials().length > 0,
  }
}

const endedOf = ({ id, ended }: CredentialRow): EndedCredential | undefined =>
  ended && { id, reason: ended }

async function isTold(
  ended: EndedCredential,
  { session }: HolderRow,
  { sessions, clock }: CredentialWatchOptions,
): Promise<boolean> {
  const late = new AbortController()
  try {
    const told = sessions.at(session).endHeld(ended.id, whyEnded(ended))
    const timeout = clock.sleep(answerMs, late.signal).then(() => false)
    return await Promise.race([told.then(() => true), timeout])
  } catch {
    return false // told again
  } finally {
    late.abort()
  }
}
