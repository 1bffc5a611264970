import { headOf } from '#contracts/cut.ts'
import type { Incident, PrincipalLedger } from '../types/principal.ts'
import type { Todo } from '../storage/todo.ts'
import type { Clock } from '#contracts/sources.ts'

const maxProblemChars = 200

/** Tells the operator of an incident; without a message, that the incident is over. */
export type Report = (kind: Incident['kind'], message: string | undefined, run?: string) => void

interface IncidentOptions {
  readonly principals: PrincipalLedger
  readonly identity: { readonly id: string }
  readonly todo: Todo
}

export function createReport({ principals, identity, todo }: IncidentOptions): Report {
  const open = new Set<Incident['kind']>()
  return (kind, message, run) => {
    const about = { kind, session: identity.id, ...(run !== undefined && { run }) }
    if (message !== undefined) {
      // Stored, so that the end of the incident is reported after a restart too. If storage fails, the set in memory is
      // the only copy.
      open.add(kind)
      attempt(() => todo.noteTrouble(kind))
      principals.report({ ...about, message: headOf(message, maxProblemChars) })
      return
    }
    const wasStored = attempt(() => todo.clearTrouble(kind))
    if (open.delete(kind) || wasStored) principals.report({ ...about, message: '', isOver: true })
  }
}

function attempt(work: () => boolean): boolean {
  try {
    return work()
  } catch {
    return false
  }
}

/** An object is in a wake loop if so many recovery alarms come in this time without a new row in its log. */
const timesRecovery = 5
const windowMs = 60_000
const firstPauseMs = 60_000
const maxPauseMs = 3_600_000

/**
 * Breaks a loop of wakes: alarms that set themselves again without progress of a run. It delays the next alarm, longer
 * each time, and reports an incident until the log grows. The work of the alarm is delayed, not forgotten. The count
 * is in memory, so only loops that are faster than the object leaves memory are found.
 */
interface WakeWatchOptions {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly recoverEveryMs: number
  readonly storage: Pick<DurableObjectStorage, 'getAlarm'>
  readonly setAlarm: (time: number) => Promise<void>
  /** A value that changes whenever the log grows. */
  readonly progress: () => number
  readonly report: Report
}

export function createWakeWatch(options: WakeWatchOptions) {
  const { clock, storage, setAlarm, progress, report } = options
  const mostInWindow = timesRecovery * Math.ceil(windowMs / options.recoverEveryMs)
  let rings: number[] = []
  let reached: number | undefined
  let trips = 0
  return {
    /** Call it after an alarm. Rejects if the next alarm could not be delayed. */
    async rang() {
      const nowMs = clock.nowMs()
      const now = progress()
      if (now !== reached) {
        reached = now
        rings = []
        if (trips > 0) report('wake_loop', undefined)
        trips = 0
      }
      rings = [...rings.filter((atMs) => atMs > nowMs - windowMs), nowMs]
      if (rings.length < mostInWindow && trips === 0) return
      const nextMs = await storage.getAlarm()
      if (nextMs === null) return
      const untilMs = nowMs + Math.min(firstPauseMs * 2 ** trips, maxPauseMs)
      if (nextMs >= untilMs) return
      trips += 1
      report(
        'wake_loop',
        `Woken ${rings.length} times in a minute without anything to show for it.`,
      )
      await setAlarm(untilMs)
    },
  }
}
