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
  /** What waits without a row has one when this resolves. */
  readonly keepRows: () => Promise<void>
  /** The alarm has come: what it is for is a row when this resolves. */
  readonly ring: () => Promise<void>
}

export interface TimersOptions {
  readonly storage: Pick<DurableObjectStorage, 'sql' | 'sync' | 'setAlarm' | 'deleteAlarm'>
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
  const hasTable = (): boolean =>
    (isMade ??=
      storage.sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'cf_agents_jobs'`).toArray()
        .length > 0)
  /** The table alone says nothing: whoever asks makes it, also a row that could not be written after it. */
  const rows = () => (hasTable() ? jobs.list() : [])
  /** What cannot be read is there all the same, and has to be looked after. */
  const mayBeKept = (): boolean => {
    try {
      return isKept()
    } catch {
      return true
    }
  }
  /** Taken for set at once: what comes in the same go may not set it later. */
  const setAlarm: SetAlarm = async (time) => {
    alarmMs = time
    try {
      await (time === undefined ? storage.deleteAlarm() : storage.setAlarm(time))
    } catch (error) {
      alarmMs = undefined // nobody knows when it comes
      throw error
    }
  }
  /** All of it in one go: the alarm follows the rows from here on, and may not be later than what it was set for. */
  const makeRows = async (hasNone: boolean, ...more: readonly Job[]): Promise<void> => {
    const due: Job = { id: 'recover', fn: 'recover', time: clock.nowMs() }
    const isUnknown = hasNone && !light.has('recover') && mayBeKept()
    const moved = [...light.values()]
    isMade = undefined
    await Promise.all([...(isUnknown ? [due] : []), ...moved, ...more].map(jobs.push))
    for (const job of moved) if (light.get(job.id) === job) light.delete(job.id)
  }

  const keepRows = async () => {
    const hasNone = rows().length === 0
    if ((light.size > 0 || hasNone) && mayBeKept()) await makeRows(hasNone)
  }

  return {
    setAlarm,
    keepRows,
    jobs: {
      get: (id) => rows().find((row) => row.id === id) ?? light.get(id),
      list() {
        const stored = rows()
        const isStored = (id: string) => stored.some((row) => row.id === id)
        return [...stored, ...[...light.values()].filter(({ id }) => !isStored(id))]
      },
      async push(job) {
        const hasNone = rows().length === 0
        if (!hasNone || !needsNoRow.has(job.id)) return makeRows(hasNone, job)
        light.set(job.id, job)
        // Where it is not known when the alarm comes, it may not be set later than for what else waits.
        const time = Math.min(...[...light.values()].map((one) => one.time))
        if (alarmMs === undefined) await setAlarm(time)
        else if (job.time < alarmMs) await setAlarm(job.time)
      },
      async cancel(id) {
        light.delete(id)
        if (rows().length > 0) return jobs.cancel(id)
        if (light.size === 0) await setAlarm(undefined)
      },
    },
    async ring() {
      alarmMs = undefined
      isMade = undefined
      await keepRows()
      // Rare enough: what it was set for is durable, whatever breaks from here on.
      await storage.sync()
    },
  }
}
