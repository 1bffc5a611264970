import * as z from 'zod'
import { atMs, count, object, text, usd, warnings } from '#platform/routes/shapes.ts'
import { slotStates } from '#runtime/session/types/schedule.ts'

const when = z.union([
  z.object({ cron: text, timeZone: text }),
  z.object({ everyMs: count, anchorMs: atMs }),
  z.object({ atMs: z.array(atMs) }),
])
const deliverTo = z.object({
  to: z.enum(['none', 'principal', 'session', 'webhook']),
  session: text.optional(),
  url: text.optional(),
})

export const schedule = z
  .object({
    id: text.describe('`sch_` and 22 characters.'),
    owner: text.describe(
      'Whose object keeps it: `principal:<name>`, `plugin:<id>` or `agent:<id>`.',
    ),
    principal: text.describe('In whose name it works.'),
    name: text,
    state: z.enum(['active', 'paused', 'over']).describe('`over`: it is never due again.'),
    paused: z.object({ atMs, reason: text, by: text }).optional(),
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
    limits: object.optional(),
    daily: z.object({ runs: count, tokens: count.optional(), costUsd: usd.optional() }),
    stopAfterFailures: count,
    deliver: deliverTo,
    heartbeat: z.literal(true).optional(),
    createdAtMs: atMs,
    failures: count.describe('In a row.'),
    today: z.object({ runs: count, tokens: count, costUsd: usd }),
    next: z.array(atMs).describe('Its next slots; to ask for them moves none.'),
  })
  .meta({ id: 'Schedule' })
export const madeSchedule = schedule.extend({ warnings }).meta({ id: 'MadeSchedule' })
export type ScheduleListing = z.infer<typeof schedule>

const slotDelivery = z.object({
  to: text,
  state: z.enum(['waiting', 'delivered', 'failed']),
  attempts: count,
  error: text.optional(),
  atMs: atMs.optional(),
})

export const slot = z
  .object({
    slotMs: atMs.describe('The moment that it stands for.'),
    state: z.enum(slotStates),
    reason: text.optional(),
    isManual: z.literal(true).optional().describe('Somebody asked for it, beside its slots.'),
    beganAtMs: atMs.optional(),
    endedAtMs: atMs.optional(),
    session: text.optional(),
    run: text.optional(),
    text: text.optional().describe('The beginning of what it said.'),
    tokens: count,
    costUsd: usd,
    delivery: slotDelivery.optional(),
  })
  .meta({ id: 'ScheduleSlot' })
export type SlotListing = z.infer<typeof slot>

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
    paused: z.object({ atMs, reason: text, by: text }).optional(),
    event: text,
    where: object.optional(),
    of: z.enum(['own', 'everybody']),
    agent: text,
    task: text,
    model: text.optional(),
    session: text.optional(),
    ttlMinutes: count,
    maxDepth: count,
    limits: object.optional(),
    daily: z.object({ runs: count, tokens: count.optional(), costUsd: usd.optional() }),
    stopAfterFailures: count,
    deliver: deliverTo,
    createdAtMs: atMs,
    failures: count.describe('In a row.'),
    today: z.object({ runs: count, tokens: count, costUsd: usd }),
  })
  .meta({ id: 'Subscription' })
export type SubscriptionListing = z.infer<typeof subscription>

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
    beganAtMs: atMs.optional(),
    endedAtMs: atMs.optional(),
    session: text.optional(),
    run: text.optional(),
    text: text.optional().describe('The beginning of what it said.'),
    tokens: count,
    costUsd: usd,
    delivery: slotDelivery.optional(),
  })
  .meta({ id: 'SubscriptionFiring' })
export type FiringListing = z.infer<typeof firing>
