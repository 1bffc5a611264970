import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { atMs, count, object, text, usd, warnings } from '#platform/routes/shapes.ts'
import {
  slotStates,
  type Schedule,
  type ScheduleView,
  type Slot,
} from '#runtime/session/types/schedule.ts'

const when = z.union([
  z.object({ cron: text, timeZone: text }),
  z.object({ everyMs: count, anchorMs: atMs }),
  z.object({ atMs: z.array(atMs) }),
])
const paused = z.object({ atMs, reason: text, by: text }).optional()
/** What bounds a schedule, and where its outcome goes. */
const bounds = {
  limits: object.optional(),
  daily: z.object({ runs: count, tokens: count.optional(), costUsd: usd.optional() }),
  stopAfterFailures: count,
  deliver: z.object({
    to: z.enum(['none', 'principal', 'session', 'webhook']),
    session: text.optional(),
    url: text.optional(),
  }),
}
/** What has become of a schedule so far. */
const standing = {
  createdAtMs: atMs,
  failures: count.describe('In a row.'),
  today: z.object({ runs: count, tokens: count, costUsd: usd }),
}

export const schedule = z
  .object({
    id: text.describe('`sch_` and 22 characters.'),
    owner: text.describe(
      'Whose object keeps it: `principal:<name>`, `plugin:<id>` or `agent:<id>`.',
    ),
    principal: text.describe('In whose name it works.'),
    name: text,
    state: z.enum(['active', 'paused', 'over']).describe('`over`: it is never due again.'),
    paused,
    when,
    work: z.object({
      agent: text,
      task: text.optional(),
      model: text.optional(),
      tool: text.optional(),
      input: object.optional(),
    }),
    check: z.object({ tool: text, input: object, has: text.optional() }).optional(),
    catchUp: z.enum(['skip', 'once', 'all']),
    notAfterMs: count.optional(),
    overlap: z.enum(['skip', 'queue']),
    jitterMs: count,
    ...bounds,
    heartbeat: z.literal(true).optional(),
    ...standing,
    next: z.array(atMs).describe('Its next slots; to ask for them moves none.'),
  })
  .meta({ id: 'Schedule' })
export const madeSchedule = schedule.extend({ warnings }).meta({ id: 'MadeSchedule' })

/** The course of a firing. */
const course = {
  beganAtMs: atMs.optional(),
  endedAtMs: atMs.optional(),
  session: text.optional(),
  run: text.optional(),
  text: text.optional().describe('The beginning of what it said.'),
  tokens: count,
  costUsd: usd,
  delivery: z
    .object({
      to: text,
      state: z.enum(['waiting', 'delivered', 'failed']),
      attempts: count,
      error: text.optional(),
      atMs: atMs.optional(),
    })
    .optional(),
}

export const slot = z
  .object({
    slotMs: atMs.describe('The moment that it stands for.'),
    state: z.enum(slotStates),
    reason: text.optional(),
    isManual: z.literal(true).optional().describe('Somebody asked for it, beside its slots.'),
    ...course,
  })
  .meta({ id: 'ScheduleSlot' })

export const notice = z
  .object({
    id: text,
    atMs,
    schedule: text,
    name: text,
    text,
    slotMs: atMs.optional(),
    session: text.optional(),
  })
  .meta({ id: 'Notice' })
export const settings = z.object({
  timeZone: text,
  language: text.optional().describe('What schedules tell you is in it.'),
})

export const subscription = z
  .object({
    id: text.describe('`sub_` and 22 characters.'),
    owner: text.describe('Whose object keeps it: `principal:<name>` or `plugin:<id>`.'),
    principal: text.describe('In whose name it works.'),
    name: text,
    state: z.enum(['active', 'paused']),
    paused,
    event: text,
    where: object.optional(),
    of: z.enum(['own', 'everybody']),
    agent: text,
    task: text,
    model: text.optional(),
    session: text.optional(),
    ttlMinutes: count,
    maxDepth: count,
    ...bounds,
    ...standing,
  })
  .meta({ id: 'Subscription' })

export const firing = z
  .object({
    atMs: atMs.describe('When it was heard.'),
    event: z.object({ id: text, name: text, principal: text, session: text, run: text }).optional(),
    trace: text.optional().describe('That of the whole chain: its correlation id.'),
    depth: count.optional().describe('How many runs events began one after the other.'),
    expiresAtMs: atMs.optional(),
    state: z.enum(slotStates),
    reason: text.optional(),
    count: count
      .optional()
      .describe('How many events it stands for: those skipped for the same reason within an hour.'),
    ...course,
  })
  .meta({ id: 'SubscriptionFiring' })

const usdOf = (nanoUsd: number): number => nanoUsd / 1e9
const maxTextChars = 1_000

/** A schedule as the API shows it. */
export function toListing(
  view: Schedule & Partial<ScheduleView>,
  nowMs: number,
): z.infer<typeof schedule> {
  const { id, owner, asker, spec, createdAtMs, nextMs, paused, failures, day } = view
  const { daily, when, limits, ...rest } = spec
  const { costNanoUsd, ...caps } = daily
  const isToday = day.day === new Date(nowMs).toISOString().slice(0, 10)
  const next = view.next ?? (nextMs === undefined ? [] : [nextMs])
  return {
    id,
    owner,
    principal: asker.principal,
    state: paused ? 'paused' : nextMs === undefined ? 'over' : 'active',
    ...defined({ paused }),
    when: 'atMs' in when ? { atMs: [...when.atMs] } : 'event' in when ? { atMs: [] } : when,
    ...rest,
    ...(limits && { limits: { ...limits } }),
    daily: { ...caps, ...(costNanoUsd !== undefined && { costUsd: usdOf(costNanoUsd) }) },
    createdAtMs,
    failures,
    today: isToday
      ? { runs: day.runs, tokens: day.tokens, costUsd: usdOf(day.costNanoUsd) }
      : { runs: 0, tokens: 0, costUsd: 0 },
    next: paused ? [] : [...next],
  }
}

/** A slot as the API shows it. */
export function toSlotListing(shown: Slot): z.infer<typeof slot> {
  const { slotMs, state, reason, asked, beganAtMs, endedAtMs, session, run, text } = shown
  const { tokens, costNanoUsd, delivery } = shown
  return {
    slotMs,
    state,
    ...defined({ reason }),
    ...(asked && { isManual: true }),
    ...defined({ beganAtMs, endedAtMs, session, run }),
    ...(text !== undefined && { text: headOf(text, maxTextChars) }),
    tokens,
    costUsd: usdOf(costNanoUsd),
    ...defined({ delivery }),
  }
}

/** A subscription as the API shows it: without the fields that only a clock needs. */
export function toSubscriptionListing(one: Schedule, nowMs: number): z.infer<typeof subscription> {
  const { session, when, work } = one.spec
  if (!('event' in when)) throw new Error('It is no subscription.')
  const {
    next: _next,
    when: _when,
    work: _work,
    catchUp: _catchUp,
    overlap: _overlap,
    jitterMs: _jitterMs,
    ...shown
  } = toListing(one, nowMs)
  const { ttlMs, event, where, maxDepth, of } = when
  return {
    ...shown,
    state: one.paused ? 'paused' : 'active',
    event,
    ...defined({ where }),
    of,
    agent: work.agent,
    task: 'task' in work ? work.task : work.tool,
    ...('model' in work && { model: work.model }),
    ...defined({ session }),
    ttlMinutes: ttlMs / 60_000,
    maxDepth,
  }
}

/** A firing as the API shows it: the event's origin, without its payload. */
export function toFiringListing(shown: Slot): z.infer<typeof firing> {
  const { slotMs, isManual: _, ...rest } = toSlotListing(shown)
  const { cause, count: events } = shown
  const told = { atMs: slotMs, ...rest, ...defined({ count: events }) }
  if (!cause) return told
  const { id, name, principal, session, run, trace, chain } = cause
  const { depth, expiresAtMs } = chain
  return { ...told, event: { id, name, principal, session, run }, trace, depth, expiresAtMs }
}
