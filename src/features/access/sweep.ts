import type { RunSpending } from '#runtime/session/types/lineage.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { LeaseChecks } from './lease-checks.ts'
import type { LeaseRow } from './principal-rows.ts'

/** So many sessions are asked side by side. */
const width = 8
/** A session that hangs must not hold up the others. */
const answerMs = 10_000

/** What open reservations are compared with: the sessions of their runs. */
export interface SweepOptions {
  readonly checks: LeaseChecks
  readonly sessions: Pick<SessionGateway, 'at'>
  readonly clock: Clock
}

/**
 * Asks the session of every reservation that is open for long what became of its run: so a crash between a
 * reservation and its settling leaks nothing. One that does not answer is asked again the next time.
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
    return undefined // unreachable: its reservation stays until it answers
  } finally {
    late.abort()
  }
}
