import { defined } from '#contracts/defined.ts'
import type { AskedWhen, ScheduleChangeBody } from './schedule-requests.ts'
import { headOf } from '#contracts/cut.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ScheduledWork, ScheduleSpec, When } from '#runtime/session/types/schedule.ts'

/** The defaults of a schedule. */
export const scheduleDefaults = {
  catchUp: 'once',
  overlap: 'skip',
  jitterMs: 0,
  runsADay: 1_440,
  tokensADay: 500_000,
  stopAfterFailures: 3,
  deliver: { to: 'principal' },
} as const

const minuteMs = 60_000
const maxNameChars = 60

/** A `when` in its stored form. Its anchor is the minute in which it was made. */
export const toWhen = (
  asked: AskedWhen,
  { timeZone, nowMs }: { readonly timeZone: string; readonly nowMs: number },
): When => {
  if ('cron' in asked) return { cron: asked.cron.trim(), timeZone: asked.timeZone ?? timeZone }
  if ('at' in asked) return { atMs: [...new Set(asked.at)].toSorted((a, b) => a - b) }
  if (asked.hours !== undefined)
    return {
      cron: withinHours(asked.everyMinutes, asked.hours),
      timeZone: asked.timeZone ?? timeZone,
    }
  const everyMs = asked.everyMinutes * minuteMs
  return { everyMs, anchorMs: nowMs - (nowMs % minuteMs) + everyMs }
}

/** An interval that is as long as before goes on from where it is. */
export const sameWhen = (when: When, was: When | undefined): When =>
  was && 'everyMs' in when && 'everyMs' in was && when.everyMs === was.everyMs ? was : when

/** So often within these hours, as an expression: each time also on days on which clocks change. */
function withinHours(everyMinutes: number, hours: string): string {
  const [from = 0, to = 0] = hours.split('-').map(Number)
  const range = (first: number, last: number) => (first === last ? `${first}` : `${first}-${last}`)
  const past = to === 0 ? '' : `,${range(0, to - 1)}`
  return `*/${everyMinutes} ${from < to ? range(from, to - 1) : range(from, 23) + past} * * *`
}

/** The spec of a request: a field that it leaves out keeps its value, or gets the default. */
export function toScheduleSpec(
  asked: ScheduleChangeBody,
  made: {
    readonly when: When
    readonly work: ScheduledWork
    readonly limits: Partial<Limits> | undefined
  },
  was?: ScheduleSpec,
): ScheduleSpec {
  const { check, notAfterMinutes, daily = {}, jitterSeconds } = asked
  const { when, work, limits } = made
  const { runsADay, tokensADay, ...usual } = scheduleDefaults
  const had = was ?? { ...usual, daily: { runs: runsADay, tokens: tokensADay } }
  const { runs, tokens, costUsd } = daily
  const { tool = '', input = {}, has } = check ?? {}
  const checked = check && { tool, input, ...defined({ has }) }
  const notAfterMs = notAfterMinutes ? notAfterMinutes * minuteMs : notAfterMinutes
  /** The given value, `undefined` for null, and the earlier value for a field that was left out. */
  const kept = <T>(now: T | null | undefined, before: T | undefined): T | undefined =>
    now === undefined ? before : (now ?? undefined)
  const [nowChecked, nowNotAfter] = [kept(checked, was?.check), kept(notAfterMs, was?.notAfterMs)]
  return {
    name:
      asked.name ??
      was?.name ??
      headOf('task' in work ? work.task : work.tool, maxNameChars).trim(),
    when,
    work,
    ...defined({ check: nowChecked }),
    catchUp: asked.catchUp ?? had.catchUp,
    ...defined({ notAfterMs: nowNotAfter }),
    overlap: asked.overlap ?? had.overlap,
    jitterMs: jitterSeconds === undefined ? had.jitterMs : jitterSeconds * 1_000,
    ...defined({ limits }),
    daily: {
      ...had.daily,
      ...defined({ runs, tokens }),
      ...(costUsd !== undefined && { costNanoUsd: Math.round(costUsd * 1e9) }),
    },
    stopAfterFailures: asked.stopAfterFailures ?? had.stopAfterFailures,
    deliver: asked.deliver ?? had.deliver,
    ...((asked.heartbeat ?? was?.heartbeat) && { heartbeat: true }),
  }
}

/** The work of a manifest's schedule: the same call that a principal can make by hand. */
export const workOfPlugin = (plugin: string) => ({
  agent: 'orchestrator',
  tool: `${plugin}__execute`,
  input: {},
})

/** The cron expression in a manifest, if it has one. */
export const cronOfManifest = (manifest: unknown): string | undefined => {
  const { schedule } = Object(manifest) as { readonly schedule?: unknown }
  return typeof schedule === 'string' ? schedule : undefined
}
