import type { Clock } from '#contracts/sources.ts'
import type { SessionStore } from '../storage/store.ts'

export interface Job {
  readonly id: string
  readonly fn: string
  readonly time: number
}

/**
 * The object's durable timers: the part of `agents/lifecycle`'s jobs that sessions use. It sets the object's one
 * alarm to the earliest of them, or at once if that is past.
 */
export interface Jobs {
  readonly get: (id: string) => { readonly time: number } | undefined
  readonly list: () => readonly { readonly id: string; readonly time: number }[]
  readonly push: (job: Job) => Promise<unknown>
  readonly cancel: (id: string) => Promise<unknown>
}

/** The alarm itself, without a row: `undefined` for none. Holds until a job is pushed or cancelled. */
type SetAlarm = (time: number | undefined) => Promise<void>

/** Jobs that need no row: every session has them, and its log tells when they are due. */
const needsNoRow: ReadonlySet<string> = new Set(['recover', 'retention'])

/**
 * The timers of an object, most of which need no row: as long as it has no other job, only the alarm is set, and this
 * life of the object remembers its jobs. When the alarm comes, and with the first other job, the jobs get rows, so that
 * they come back whatever breaks. An alarm of an earlier life counts as a due recovery job.
 */
export type Timers = ReturnType<typeof createTimers>

interface TimersOptions {
  readonly storage: DurableObjectStorage
  /** The jobs with rows. Every call makes their table. */
  readonly jobs: Jobs
  readonly clock: Clock
  readonly store: SessionStore
}

export function createTimers({ storage, jobs, clock, store }: TimersOptions) {
  const light = new Map<string, Job>()
  let alarmMs: number | undefined
  let isMade: boolean | undefined
  const hasTable = (): boolean =>
    (isMade ??=
      storage.sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'cf_agents_jobs'`).toArray()
        .length > 0)
  /** A table without rows means nothing: any question makes it, and a row may have failed after it. */
  const rows = () => (hasTable() ? jobs.list() : [])
  /** A session that cannot be read exists all the same, and needs its timers. */
  const mayBeKept = (): boolean => {
    try {
      return store.session() !== undefined
    } catch {
      return true
    }
  }
  /** The time counts at once, so that the next call in this transaction cannot set the alarm later. */
  const setAlarm: SetAlarm = async (time) => {
    alarmMs = time
    try {
      await (time === undefined ? storage.deleteAlarm() : storage.setAlarm(time))
    } catch (error) {
      alarmMs = undefined // unknown
      throw error
    }
  }
  /** Without an await between: the alarm follows the rows from here on, and must not be later than it was set. */
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
    /** Every job that waits has a row when this resolves. */
    keepRows,
    jobs: {
      get: (id) => rows().find((row) => row.id === id) ?? light.get(id),
      list: () => {
        const stored = rows()
        const isStored = (id: string) => stored.some((row) => row.id === id)
        return [...stored, ...[...light.values()].filter(({ id }) => !isStored(id))]
      },
      push: async (job) => {
        const hasNone = rows().length === 0
        if (!hasNone || !needsNoRow.has(job.id)) return makeRows(hasNone, job)
        light.set(job.id, job)
        // While the time of the alarm is unknown, it must not be set later than any waiting job.
        const time = Math.min(...[...light.values()].map((one) => one.time))
        if (alarmMs === undefined) await setAlarm(time)
        else if (job.time < alarmMs) await setAlarm(job.time)
      },
      cancel: async (id) => {
        light.delete(id)
        if (rows().length > 0) return jobs.cancel(id)
        if (light.size === 0) await setAlarm(undefined)
      },
    } satisfies Jobs,
    /** The alarm has come: its jobs have rows when this resolves. */
    ring: async () => {
      alarmMs = undefined
      isMade = undefined
      await keepRows()
      // Alarms are rare enough to wait for the disk: its jobs are durable, whatever breaks from here on.
      await storage.sync()
    },
  }
}
