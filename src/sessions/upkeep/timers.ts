import type { Clock } from '#contracts/sources.ts'
import type { Job, Jobs, SetAlarm } from './jobs.ts'

/** What every session has follows from its log: to look whether something is left to do, and for its own end. */
const needsNoRow: ReadonlySet<string> = new Set(['recover', 'retention'])

/**
 * The timers of an object, of which most need no row: as long as it has no other job, the alarm alone is set, and what
 * it is for is known to this life of the object. When it rings, and with the first other job, rows are made of them,
 * so that it comes back whatever breaks; where an earlier life set it, there is a job that is due.
 */
export interface Timers {
  readonly jobs: Jobs
  readonly setAlarm: SetAlarm
  /** The alarm has come: what it is for is a row when this resolves. */
  readonly ring: () => Promise<void>
}

export interface TimersOptions {
  readonly storage: Pick<DurableObjectStorage, 'sql' | 'setAlarm' | 'deleteAlarm'>
  /** Those with rows; makes their table as soon as it is asked. */
  readonly jobs: Jobs
  readonly clock: Pick<Clock, 'nowMs'>
  /** Whether there is a session here. */
  readonly isKept: () => boolean
}

export function createTimers({ storage, jobs, clock, isKept }: TimersOptions): Timers {
  const light = new Map<string, Job>()
  let alarmMs: number | undefined
  let isMade: boolean | undefined
  const hasRows = (): boolean =>
    (isMade ??=
      storage.sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'cf_agents_jobs'`).toArray()
        .length > 0)
  /** What cannot be read is there all the same, and has to be looked after. */
  const mayBeKept = (): boolean => {
    try {
      return isKept()
    } catch {
      return true
    }
  }
  const setAlarm: SetAlarm = (time) => {
    alarmMs = time
    return time === undefined ? storage.deleteAlarm() : storage.setAlarm(time)
  }
  /** All of it in one go: the alarm follows the rows from here on, and may not be later than what it was set for. */
  const store = async (...more: readonly Job[]): Promise<void> => {
    const due: Job = { id: 'recover', fn: 'recover', time: clock.nowMs() }
    const isUnknown = mayBeKept() && !light.has('recover')
    const pushed = [...(isUnknown ? [due] : []), ...light.values(), ...more].map(jobs.push)
    light.clear()
    isMade = undefined
    await Promise.all(pushed)
  }

  return {
    setAlarm,
    jobs: {
      get: (id) => (hasRows() ? jobs.get(id) : light.get(id)),
      list: () => (hasRows() ? jobs.list() : [...light.values()]),
      async push(job) {
        if (hasRows()) return jobs.push(job)
        if (!needsNoRow.has(job.id)) return store(job)
        light.set(job.id, job)
        if (alarmMs === undefined || job.time < alarmMs) await setAlarm(job.time)
      },
      async cancel(id) {
        if (hasRows()) return jobs.cancel(id)
        light.delete(id)
        if (light.size === 0) await setAlarm(undefined)
      },
    },
    async ring() {
      alarmMs = undefined
      if (!hasRows() && mayBeKept()) await store()
    },
  }
}
