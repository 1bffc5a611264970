import {
  whyEnded,
  type CredentialState,
  type EndedCredential,
  type HeldWorkRequest,
} from '#runtime/session/types/held-work.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { CredentialRow, HeldRows, HolderRow } from './held-rows.ts'

/** So many sessions are told side by side. */
const width = 32
/** A session that hangs must not hold up the others. */
const answerMs = 5_000
/** A session is asked whether it still works with what it holds, this long after it came and again after each answer. */
const askEveryMs = 3_600_000
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
 * `look`, finds it here; and what is known to have ended is said to whoever comes later. Nothing stays for ever either:
 * a session that was deleted, or fell before its run was written, gives nothing back, and says so when it is asked.
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
  const { rows, sessions, stateOf, clock, checkEveryMs, wakeAt } = options
  let failures = 0
  /** What sessions are being asked about, and whether they came with it again meanwhile. */
  const asking = new Map<string, boolean>()

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
    let areReached = true
    await sideBySide(untold(), async ({ ended, holder }) => {
      if (await isTold(ended, holder, options)) rows.release(ended.id, holder)
      else areReached = false
    })
    return areReached
  }
  /** A session that cannot be asked is asked again. */
  const ask = async (): Promise<void> => {
    const nowMs = clock.nowMs()
    const due = rows.toAsk(nowMs, nowMs + askEveryMs)
    for (const { credential, session } of due)
      rows.askLater(credential, session, nowMs + askEveryMs)
    await sideBySide(due, async ({ credential, ...holder }) => {
      const { session } = holder
      const key = keyOf(credential, session)
      asking.set(key, false)
      const works = await answerOf(() => sessions.at(session).worksWith(credential), options)
      // A run that came since may have the place of one that was declined: only what was asked about is given back.
      if (works === false && asking.get(key) === false) rows.release(credential, holder)
      asking.delete(key)
    })
    rows.prune()
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
  const checkAndTell = async (ids: readonly string[]): Promise<boolean> => {
    const isChecked = await check(ids)
    return (await tell()) && isChecked
  }
  const soon = async (ids: readonly string[]) => {
    const timeMs = nextMs(await checkAndTell(ids))
    if (timeMs !== undefined) wakeAt(timeMs)
  }

  const retry = () => wakeAt(clock.nowMs() + againMs)

  return {
    hold({ session, credentials, upTo }) {
      for (const id of credentials) {
        rows.hold(id, { session, upTo }, clock.nowMs() + askEveryMs)
        if (asking.has(keyOf(id, session))) asking.set(keyOf(id, session), true)
      }
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
        const isWell = await checkAndTell(open.map(({ id }) => id))
        await ask() // after that: what was taken back ends within a second
        return nextMs(isWell)
      } catch {
        return clock.nowMs() + maxAgainMs // the object's storage cannot be read just now
      }
    },
    isNeeded: () => rows.credentials().length > 0,
  }
}

const endedOf = ({ id, ended }: CredentialRow): EndedCredential | undefined =>
  ended && { id, reason: ended }

const keyOf = (credential: string, session: string): string => `${credential} ${session}`

async function sideBySide<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items]
  const workOff = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) await work(next)
  }
  await Promise.all(Array.from({ length: Math.min(width, waiting.length) }, workOff))
}

async function isTold(
  ended: EndedCredential,
  { session }: HolderRow,
  options: CredentialWatchOptions,
): Promise<boolean> {
  const tell = async () => {
    await options.sessions.at(session).endHeld(ended.id, whyEnded(ended))
    return true
  }
  return (await answerOf(tell, options)) ?? false // told again
}

/** What a session answers; `undefined` if it does not. */
async function answerOf<T>(
  ask: () => Promise<T>,
  { clock }: Pick<CredentialWatchOptions, 'clock'>,
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
