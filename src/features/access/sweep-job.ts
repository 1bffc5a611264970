import { errorMessage } from '#contracts/errors.ts'
import type {
  Incident,
  PrincipalLedger,
  PrincipalTiming,
} from '#runtime/session/types/principal.ts'
import type { PlannedJob } from '#platform/objects/planned-job.ts'
import { sweep, type SweepOptions } from './sweep.ts'

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
