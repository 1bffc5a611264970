import type { RunSpending } from '#runtime/session/types/lineage.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { LeaseChecks } from './lease-checks.ts'
import type { LeaseRow } from './principal-rows.ts'

/** How many sessions are asked at the same time. */
const width = 8
/** A session that hangs must not hold up the others. */
const answerMs = 10_000

/** The open reservations, and the sessions of their runs. */
export interface SweepOptions {
  readonly checks: LeaseChecks
  readonly sessions: Pick<SessionGateway, 'at'>
  readonly clock: Clock
}

/**
 * Asks the session of each old open reservation what became of its run, so that a crash between reservation and
 * settlement leaks nothing. A session that does not answer is asked again at the next sweep.
 */
export async function sweep({ checks, sessions, clock }: SweepOptions): Promise<void> {
  const waiting = [...checks.start(clock.nowMs())]
  const work = async () => {
    for (let lease = waiting.pop(); lease; lease = waiting.pop()) {
      const spending = await askSession(lease, sessions, clock)
      checks.finish(lease.run, spending, clock.nowMs())
    }
  }
  await Promise.all(Array.from({ length: width }, work))
}

async function askSession(
  { session, run }: LeaseRow,
  sessions: SweepOptions['sessions'],
  clock: Clock,
): Promise<RunSpending | undefined> {
  const late = new AbortController()
  try {
    const timeout = clock.sleep(answerMs, late.signal).then(() => undefined)
    return await Promise.race([sessions.at(session).spentBy(run), timeout])
  } catch {
    return undefined // unreachable: the reservation stays until the session answers
  } finally {
    late.abort()
  }
}
