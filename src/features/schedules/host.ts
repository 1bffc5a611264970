import type { CheckUrl } from '#contracts/outbound.ts'
import { toReply } from '#contracts/reply.ts'
import {
  scheduleJob,
  type CreateScheduleHost,
  type ScheduleAnswer,
  type ScheduleJobs,
} from '#runtime/session/types/schedule-object.ts'
import { createEditVerbs } from './edit.ts'
import { createKeeper, type KeeperDeps } from './keeper.ts'
import { createScheduleRows } from './rows.ts'
import { createForgetVerbs } from './forget-heard.ts'
import { createHear } from './hear.ts'
import { createChangeVerbs, createReadVerbs, type Verbs } from './verbs.ts'

/** The one job of an object, as its job queue hands it out. */
interface Job {
  readonly restore: () => void
  readonly at: (timeMs: number) => void
  readonly run: (
    work: () => Promise<number | undefined>,
  ) => Promise<{ rescheduleAt: number } | undefined>
}

export interface HostDeps extends KeeperDeps {
  readonly checkUrl: CheckUrl
  readonly createJob: (jobs: ScheduleJobs, id: string) => Job
}

/** Minimum delay before the next alarm, to avoid a busy loop. */
const breathMs = 100
const brokenMs = 60_000

/** The schedules of one object: its rows, its job and its verbs. */
export const createScheduleHosts =
  (deps: HostDeps): CreateScheduleHost<DurableObjectStorage> =>
  (storage, lifecycle) => {
    const rows = createScheduleRows(storage)
    const keeper = createKeeper(rows, storage, deps)
    const job = deps.createJob(lifecycle.jobs, scheduleJob)
    const nowMs = () => deps.clock.nowMs()
    let looking: Promise<void> | undefined
    /** At most one look at a time: the job and a `poke` share it. */
    const look = () => (looking ??= keeper.look().finally(() => (looking = undefined)))
    const wake = () => {
      const next = keeper.nextMs()
      if (next !== undefined) job.at(next)
    }
    const parts = { rows, keeper, storage, nowMs, checkUrl: deps.checkUrl, wake }
    const change = createChangeVerbs(parts)
    const verbs: Verbs = {
      ...change,
      ...createEditVerbs(parts, change),
      ...createReadVerbs(parts),
      ...createForgetVerbs(rows),
      hear: createHear({ ...parts, mayBegin: deps.mayBegin }),
      async poke({ schedules }) {
        for (const told of schedules) {
          const own = rows.schedule(told.id)
          // Mirrored again, so that the watchdog reads when it is really due.
          if (own) rows.put(own)
          else rows.remove(told, [])
        }
        await look()
        wake()
        return { looked: true }
      },
    }

    return {
      restore() {
        if (keeper.nextMs() === undefined) return
        job.restore()
        wake()
      },
      run: () =>
        job.run(async () => {
          await look()
          try {
            const next = keeper.nextMs()
            return next && Math.max(next, nowMs() + breathMs)
          } catch {
            return nowMs() + brokenMs
          }
        }),
      async answer({ verb, ask }) {
        await lifecycle.start()
        // Verb and `ask` are a pair of the table, as their type says; the compiler does not keep the two together.
        const answer = verbs[verb] as (given: unknown) => ScheduleAnswer | Promise<ScheduleAnswer>
        const reply = await toReply(async () => answer(ask))
        // The watchdog found the schedule late: the alarm may be lost, whatever the jobs say.
        if (verb === 'poke') await lifecycle.rearmAlarm()
        return reply
      },
    }
  }
