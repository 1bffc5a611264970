import type { AskedWhen, ScheduleRequestBody } from './api/requests/schedules.ts'
import { headOf } from './cut.ts'
import type { Limits } from './lease.ts'
import type { ScheduledWork, ScheduleSpec, When } from './schedule.ts'

/** What a schedule is when nobody says otherwise. */
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

/** A `when` as it is kept. Its anchor is the minute in which it was made. */
export const toWhen = (
  asked: AskedWhen,
  { timeZone, nowMs }: { readonly timeZone: string; readonly nowMs: number },
): When => {
  if ('cron' in asked) return { cron: asked.cron.trim(), timeZone: asked.timeZone ?? timeZone }
  if ('at' in asked) return { atMs: [...new Set(asked.at)].toSorted((a, b) => a - b) }
  const everyMs = asked.everyMinutes * minuteMs
  return { everyMs, anchorMs: nowMs - (nowMs % minuteMs) + everyMs }
}

/** What somebody asks for, with what holds where they say nothing. */
export function toScheduleSpec(
  asked: ScheduleRequestBody,
  made: {
    readonly when: When
    readonly work: ScheduledWork
    readonly limits: Partial<Limits> | undefined
  },
): ScheduleSpec {
  const { check, notAfterMinutes, daily = {}, jitterSeconds } = asked
  const { when, work, limits } = made
  const { runsADay, tokensADay, ...usual } = scheduleDefaults
  const { tokens = tokensADay, costUsd } = daily
  return {
    name: asked.name ?? headOf('task' in work ? work.task : work.tool, maxNameChars).trim(),
    when,
    work,
    ...(check && { check: { tool: check.tool, input: check.input ?? {} } }),
    catchUp: asked.catchUp ?? usual.catchUp,
    ...(notAfterMinutes !== undefined && { notAfterMs: notAfterMinutes * minuteMs }),
    overlap: asked.overlap ?? usual.overlap,
    jitterMs: jitterSeconds === undefined ? usual.jitterMs : jitterSeconds * 1_000,
    ...(limits && { limits }),
    daily: {
      runs: daily.runs ?? runsADay,
      tokens,
      ...(costUsd !== undefined && { costNanoUsd: Math.round(costUsd * 1e9) }),
    },
    stopAfterFailures: asked.stopAfterFailures ?? usual.stopAfterFailures,
    deliver: asked.deliver ?? usual.deliver,
  }
}

/** What a manifest's schedule does each time: the same call that anybody can make by hand. */
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
