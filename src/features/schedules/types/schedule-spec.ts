import { defined } from '#contracts/defined.ts'
import type { AskedWhen, ScheduleChangeBody, SubscriptionRequestBody } from './schedule-requests.ts'
import { headOf } from '#contracts/cut.ts'
import type { Limits } from '#contracts/lease.ts'
import { subscriptionManifests } from '#contracts/event-bus.ts'
import type {
  SubscriptionManifest,
  ScheduledWork,
  ScheduleSpec,
  When,
} from '#runtime/session/types/schedule.ts'

/** The defaults of a schedule. */
const scheduleDefaults = {
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

/**
 * The spec of a request: a field that it leaves out keeps its value, or gets the default. A field that has the same
 * form in both needs no line here.
 */
export function toScheduleSpec(
  asked: ScheduleChangeBody & { readonly plugin?: string | undefined },
  made: {
    readonly when: When
    readonly work: ScheduledWork
    readonly limits: Partial<Limits> | undefined
  },
  was?: ScheduleSpec,
): ScheduleSpec {
  const { check, notAfterMinutes, daily = {}, jitterSeconds, heartbeat, limits: _, ...rest } = asked
  const {
    when: _when,
    task: _task,
    agent: _agent,
    model: _model,
    tool: _tool,
    input: _input,
    plugin: _plugin,
    dryRun: _dryRun,
    ...same
  } = rest
  const { when, work, limits } = made
  const { runsADay, tokensADay, ...usual } = scheduleDefaults
  const had = was ?? { ...usual, daily: { runs: runsADay, tokens: tokensADay } }
  const { runs, tokens, costUsd } = daily
  const { tool = '', input = {}, has } = check ?? {}
  /** The given value, `undefined` for null, and the earlier value for a field that was left out. */
  const kept = <T>(now: T | null | undefined, before: T | undefined): T | undefined =>
    now === undefined ? before : (now ?? undefined)
  return defined({
    ...was,
    name: was?.name ?? headOf('task' in work ? work.task : work.tool, maxNameChars).trim(),
    when,
    work,
    check: kept(check && { tool, input, ...defined({ has }) }, was?.check),
    catchUp: had.catchUp,
    notAfterMs: kept(
      notAfterMinutes ? notAfterMinutes * minuteMs : notAfterMinutes,
      was?.notAfterMs,
    ),
    overlap: had.overlap,
    jitterMs: jitterSeconds === undefined ? had.jitterMs : jitterSeconds * 1_000,
    limits,
    daily: {
      ...had.daily,
      ...defined({ runs, tokens }),
      ...(costUsd !== undefined && { costNanoUsd: Math.round(costUsd * 1e9) }),
    },
    stopAfterFailures: had.stopAfterFailures,
    deliver: had.deliver,
    heartbeat: (heartbeat ?? was?.heartbeat) ? (true as const) : undefined,
    ...defined(same),
  })
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

/** The defaults of a subscription. */
const subscriptionDefaults = { ttlMinutes: 60, maxDepth: 4, runsADay: 100 } as const

/**
 * The spec of a request, with defaults for fields that it leaves out. One run after the other, in the order of its
 * events.
 */
export function toSubscriptionSpec(
  asked: Omit<SubscriptionRequestBody, 'limits' | 'dryRun'> & { readonly agent: string },
  limits?: Partial<Limits>,
): ScheduleSpec {
  const {
    event,
    where,
    of = 'own',
    task,
    agent,
    model,
    session,
    daily,
    stopAfterFailures,
    deliver,
  } = asked
  const { ttlMinutes, maxDepth, runsADay } = { ...subscriptionDefaults, ...defined(asked) }
  const spec = toScheduleSpec(
    {
      name: asked.name ?? headOf(`${event}: ${task}`, maxNameChars).trim(),
      catchUp: 'all',
      overlap: 'queue',
      daily: { runs: runsADay, ...defined({ ...daily }) },
      stopAfterFailures,
      deliver,
    },
    {
      when: { event, ...defined({ where }), of, ttlMs: ttlMinutes * minuteMs, maxDepth },
      work: { agent, task, ...defined({ model }) },
      limits,
    },
  )
  return { ...spec, ...defined({ session }) }
}

/** A line of `subscribes`, for its agent. */
export function specOfManifest(
  { max_depth: maxDepth, ttl_minutes: ttlMinutes, runs_a_day: runs, ...rest }: SubscriptionManifest,
  agent: string,
): ScheduleSpec {
  const daily = runs !== undefined && { daily: { runs } }
  return toSubscriptionSpec({ ...rest, agent, maxDepth, ttlMinutes, ...daily })
}

/** The subscriptions of a plugin manifest's agent; empty if there are none. */
export function subscriptionsOfManifest(manifest: unknown): readonly SubscriptionManifest[] {
  const { agent } = Object(manifest) as { readonly agent?: unknown }
  return subscriptionManifests.parse(Object(agent).subscribes) ?? []
}
