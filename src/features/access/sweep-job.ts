import type { RunSpending } from '#runtime/session/types/submission.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { LeaseChecks } from './lease-checks.ts'
import type { LeaseRow } from './principal-rows.ts'
import { errorMessage } from '#contracts/errors.ts'
import type {
  Incident,
  PrincipalLedger,
  PrincipalTiming,
} from '#runtime/session/types/principal.ts'
import type { PlannedJob } from '#platform/objects/planned-job.ts'

/** How many sessions are asked at the same time. */
const width = 8
/** A session that hangs must not hold up the others. */
const answerMs = 10_000

/** The open reservations, and the sessions of their runs. */
interface SweepOptions {
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

export interface SweepJobOptions extends SweepOptions {
  readonly timing: PrincipalTiming
  readonly report: PrincipalLedger['report']
  readonly job: PlannedJob
}

/** The job that checks open reservations; planned while there are any. */
export interface SweepJob {
  /** Called after a restart. Plans the job only if reservations are open. */
  readonly restore: () => void
  /** Plans one job while reservations are open. Written in the same transaction as the reservation. */
  readonly ensure: () => void
  /** @returns When the job runs again, if it does. */
  readonly run: () => ReturnType<PlannedJob['run']>
}

export function createSweepJob(options: SweepJobOptions): SweepJob {
  const { checks, clock, timing, report, job } = options
  const ensure = (): void => {
    const time = checks.nextMs(clock.nowMs())
    if (time !== undefined) job.at(time)
  }
  const work = async (): Promise<number | undefined> => {
    try {
      await sweep(options)
    } catch (error) {
      report(sweepFailed(error))
    }
    const next = checks.nextMs(clock.nowMs())
    return next && Math.max(next, clock.nowMs() + timing.sweepEveryMs)
  }
  return {
    restore() {
      if (checks.nextMs(0) === undefined) return
      job.restore()
      ensure()
    },
    ensure,
    run: () => job.run(work),
  }
}

const sweepFailed = (error: unknown): Incident => ({
  kind: 'alarm_failed',
  session: '',
  message: `Reservations could not be looked after: ${errorMessage(error)}`,
})
