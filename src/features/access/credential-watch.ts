import {
  whyEnded,
  type CredentialState,
  type EndedCredential,
  type HeldWorkRequest,
} from '#runtime/session/types/principal.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { CredentialRow, HeldRows } from './held-rows.ts'
import { answerWithin, sideBySide } from './ask-sessions.ts'

/** How many sessions are called at the same time. */
const width = 32
const answerMs = 5_000
/** How long after `hold`, and after each answer, a session is asked whether it still works with a credential. */
const askEveryMs = 3_600_000
/** Pause before a failed lookup or delivery is retried: the first one, and the longest. */
const [againMs, maxAgainMs] = [1_000, 60_000]

export interface CredentialWatchOptions {
  readonly rows: HeldRows
  /** May throw `request_unavailable`. */
  readonly stateOf: (id: string) => Promise<CredentialState>
  readonly sessions: Pick<SessionGateway, 'at'>
  readonly clock: Clock
  /** How often the database is asked while sessions work, in case a revocation was not reported. Milliseconds. */
  readonly checkEveryMs: number
  /** Sets the alarm: `look` is to be called by then. Written in the same transaction as the row that needs it. */
  readonly wakeAt: (timeMs: number) => void
}

/**
 * Keeps which sessions work with which credential (a key or a sign-in), and cancels their work when it ends.
 * Invariant: no session works on with an ended credential. `hold` writes the session's row before the database is
 * asked about its credential. A revocation calls `look` after it changed the database, so `look` finds the row. For a
 * credential already known to have ended, `hold` itself returns the end.
 * Rows do not stay for ever: a session that was deleted, or crashed before it wrote its run, calls no `release`, so
 * each session is asked from time to time whether it still works with the credential.
 */
export function createCredentialWatch(options: CredentialWatchOptions) {
  const { rows, sessions, stateOf, clock, checkEveryMs, wakeAt } = options
  let failures = 0
  /** Sessions being asked now, by credential and session; true if `hold` was called again meanwhile. */
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
  /** @returns Whether all sessions acknowledged the end of their credential. */
  const tell = async (): Promise<boolean> => {
    let areReached = true
    await sideBySide(untold(), width, async ({ ended, holder }) => {
      const isTold = await answerWithin(answerMs, clock, async () => {
        await sessions.at(holder.session).endHeld(ended.id, whyEnded(ended))
        return true
      })
      if (isTold) rows.release(ended.id, holder)
      else areReached = false // the delivery is retried
    })
    return areReached
  }
  /** Asks sessions whether they still work with a credential. A session that does not answer keeps its row. */
  const ask = async (): Promise<void> => {
    const nowMs = clock.nowMs()
    const due = rows.toAsk(nowMs, nowMs + askEveryMs)
    for (const { credential, session } of due)
      rows.askLater(credential, session, nowMs + askEveryMs)
    await sideBySide(due, width, async ({ credential, ...holder }) => {
      const { session } = holder
      const key = keyOf(credential, session)
      asking.set(key, false)
      const works = await answerWithin(answerMs, clock, () =>
        sessions.at(session).worksWith(credential),
      )
      // A new run may have begun since the question: then the row stays.
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
    /**
     * One synchronous step. @returns The credential already known to have ended; an end found later is sent to the
     * session.
     */
    hold({ session, credentials, upTo }: HeldWorkRequest): EndedCredential | undefined {
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
    release({ session, credentials, upTo }: HeldWorkRequest): void {
      for (const id of credentials) rows.release(id, { session, upTo })
    },
    /**
     * Asks the database about all open credentials, and tells the sessions whose credential ended. Never rejects.
     * @returns When to look again, epoch milliseconds.
     */
    async look(): Promise<number | undefined> {
      try {
        rows.prune()
        const open = rows.credentials().filter(({ ended }) => ended === undefined)
        const isWell = await checkAndTell(open.map(({ id }) => id))
        await ask() // after `checkAndTell`: a revocation must reach its sessions within a second
        return nextMs(isWell)
      } catch {
        return clock.nowMs() + maxAgainMs // the object's storage cannot be read now
      }
    },
    isNeeded: () => rows.credentials().length > 0,
  }
}

const endedOf = ({ id, ended }: CredentialRow): EndedCredential | undefined =>
  ended && { id, reason: ended }

const keyOf = (credential: string, session: string): string => `${credential} ${session}`
