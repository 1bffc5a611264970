import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import { isPiece } from './day-pieces.ts'
import type { LeaseChecks } from './lease-checks.ts'
import type { LeaseRow } from './principal-rows.ts'
import { errorMessage } from '#contracts/errors.ts'
import type {
  Incident,
  PrincipalLedger,
  PrincipalTiming,
} from '#runtime/session/types/principal.ts'
import type { PlannedJob } from '#platform/objects/planned-job.ts'
import { answerWithin, sideBySide } from './ask-sessions.ts'

/** How many sessions are asked at the same time. */
const width = 8
const answerMs = 10_000
/** A run waits for pieces that are called back. */
const backMs = 2_000

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
  await sideBySide(checks.start(clock.nowMs()), width, async ({ session, run }) => {
    if (isPiece({ run })) return callBack({ session, run }, { checks, sessions, clock })
    // Without an answer the reservation stays.
    const spending = await answerWithin(answerMs, clock, () => sessions.at(session).spentBy(run))
    checks.finish(run, spending, clock.nowMs())
  })
}

/** Calls a piece back. A session that does not answer keeps it: its runs may spend it, in the day of the piece. */
async function callBack(
  { session, run: piece }: Pick<LeaseRow, 'session' | 'run'>,
  { checks, sessions, clock }: SweepOptions,
): Promise<void> {
  const answer = await answerWithin(backMs, clock, () => sessions.at(session).giveBack(piece))
  checks.back(piece, answer, clock.nowMs())
}

/**
 * Calls pieces back for a run that would get less because of them, until it would not. @param inTheWay The pieces, as
 * of now.
 */
export async function callPiecesBack(
  inTheWay: () => readonly LeaseRow[],
  options: SweepOptions,
): Promise<void> {
  const asked = new Set<string>()
  for (;;) {
    const next = inTheWay().filter(({ run }) => !asked.has(run))
    const some = next.slice(0, width)
    if (some.length === 0) return
    for (const { run } of some) asked.add(run)
    await sideBySide(some, width, (lease) => callBack(lease, options))
  }
}

interface SweepJobOptions extends SweepOptions {
  readonly timing: PrincipalTiming
  readonly report: PrincipalLedger['report']
  readonly job: PlannedJob
}

/** The job that checks open reservations; planned while there are any. */
export function createSweepJob(options: SweepJobOptions) {
  const { checks, clock, timing, report, job } = options
  /** Plans one job while reservations are open. Written in the same transaction as the reservation. */
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
    /** Called after a restart. Plans the job only if reservations are open. */
    restore(): void {
      if (checks.nextMs(0) === undefined) return
      job.restore()
      ensure()
    },
    ensure,
    /** @returns When the job runs again, if it does. */
    run: () => job.run(work),
  }
}

const sweepFailed = (error: unknown): Incident => ({
  kind: 'alarm_failed',
  session: '',
  message: `Reservations could not be looked after: ${errorMessage(error)}`,
})
