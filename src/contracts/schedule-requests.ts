import * as z from 'zod'
import { Cron } from 'croner'
import { headOf } from './cut.ts'
import type { JsonObject } from './json.ts'
import { refuseHidden } from './visible-text.ts'
import { runLimits } from './limits.ts'

/** Whose object keeps it, tagged. */
export type ScheduleKeeper = `principal:${string}` | `plugin:${string}`

const fields = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12 },
  { name: 'day of the week', min: 0, max: 7 },
] as const

/** Schedules an expression of five fields. Throws an expression that the scheduler does not take. */
export const toCron = (expression: string, timeZone: string): Cron =>
  new Cron(expression, { timezone: timeZone, mode: '5-part' })

/**
 * The fault of a cron expression, or `undefined`: asks the scheduler itself, field by field, and whether the
 * expression is ever due. Any expression that passes can be scheduled; every border checks with it, before a schedule
 * is made.
 */
export function cronProblem(text: string): string | undefined {
  const given = text.trim().split(/\s+/)
  if (given.length !== fields.length)
    return (
      'must be a cron expression of five fields (minute, hour, day, month, day of the week), ' +
      `such as "0 */4 * * *"; it has ${given.length}`
    )
  const wrong = given.findIndex((field, index) => {
    const alone = fields.map((_, at) => (at === index ? field : '*')).join(' ')
    return refusalOf(alone) !== undefined
  })
  if (wrong >= 0) return fieldProblem(given[wrong]!, fields[wrong]!)
  const refused = refusalOf(text)
  if (refused !== undefined) return `is no cron expression: ${headOf(refused, 200)}`
  // Any start does: an expression that is due once is due again, on the same days of another year.
  return toCron(text, 'UTC').nextRun(new Date(0)) === null
    ? 'is never due: no month that it names has such a day'
    : undefined
}

function refusalOf(expression: string): string | undefined {
  try {
    toCron(expression, 'UTC')
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function fieldProblem(given: string, { name, min, max }: (typeof fields)[number]): string {
  const [, from, step] = /^(\w+)\/(\d+)$/.exec(given) ?? []
  const meant =
    from === undefined
      ? ''
      : `; from ${headOf(from, 20)} on, every ${step}: ${headOf(from, 20)}-${max}/${step}`
  return (
    `the ${name}, "${headOf(given, 40)}", must be *, a number from ${min} to ${max}, ` +
    `a range or a list of those, with a step if wanted: */4${meant}`
  )
}

/** An IANA time zone that this machine knows. */
export const timeZone = z
  .string()
  .min(1)
  .max(64)
  .refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')

function isTimeZone(name: string): boolean {
  try {
    // A bare offset (`+01:00`) has no name that a person would know, and no summer time.
    const known = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
    return /^[A-Za-z]/.test(name) && known !== ''
  } catch {
    return false
  }
}

const cron = z
  .string()
  .max(200)
  .superRefine((expression, context) => {
    const message = cronProblem(expression)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

const at = z.iso
  .datetime({ offset: true, error: 'must be a moment with its offset: 2026-12-24T18:00:00+01:00' })
  .transform((text) => Date.parse(text))

/** Whole hours of a day, the second one not included. */
const hours = z
  .string()
  .regex(/^([01]?\d|2[0-3])-([01]?\d|2[0-4])$/, 'must be whole hours, such as 8-22 or 22-6')
  .refine((text) => new Set(text.split('-').map(Number)).size === 2, 'must not be empty')

/** When a schedule is due. */
const when = z.union(
  [
    z.strictObject({ cron, timeZone: timeZone.optional() }),
    z
      .strictObject({
        everyMinutes: z
          .int()
          .min(1)
          .max(366 * 1_440),
        hours: hours.optional(),
        timeZone: timeZone.optional(),
      })
      .refine(({ everyMinutes, hours: of }) => of === undefined || 60 % everyMinutes === 0, {
        path: ['everyMinutes'],
        error: 'must go evenly into an hour where hours are named: 1, 5, 10, 15, 20, 30 or 60',
      })
      .refine(({ hours: of, timeZone: zone }) => of !== undefined || zone === undefined, {
        path: ['timeZone'],
        error: 'goes with hours: an interval alone has no time zone',
      }),
    z.strictObject({ at: z.array(at).min(1).max(100) }),
  ],
  'must be { "cron": "0 9 * * 1-5" }, { "everyMinutes": 30 } or { "at": ["2026-12-24T18:00:00+01:00"] }',
)

const input = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
)
const tool = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the name of a tool')
const name = z.string().min(1).max(100).superRefine(refuseHidden('line'))
/** The task of a later run: a model reads it then, and a person who approves an agent reads it before. */
export const laterTask = z.string().min(1).max(20_000).superRefine(refuseHidden('text'))

const webhook = z
  .string()
  .max(1_000)
  .refine(
    (url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ''),
    'must be an https address of a public host',
  )

/** Where what came of a firing goes. */
const deliver = z.discriminatedUnion(
  'to',
  [
    z.strictObject({ to: z.literal('none') }),
    z.strictObject({ to: z.literal('principal') }),
    z.strictObject({
      to: z.literal('session'),
      session: z.string().regex(/^ses_[0-9A-Za-z]{22}$/, 'must be the id of a session'),
    }),
    z.strictObject({ to: z.literal('webhook'), url: webhook }),
  ],
  'must be { "to": … } with none, principal, session or webhook: there are no channels yet',
)

export const check = z.strictObject({
  tool,
  input: input.optional(),
  has: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('Goes on if this field of the answer holds anything, instead of `shouldRun: true`.'),
})
export const notAfterMinutes = z
  .int()
  .min(1)
  .max(366 * 1_440)

/** `POST /api/schedules`. */
export const scheduleRequest = z.strictObject({
  name: name.optional().describe('What it is called; the beginning of its task if absent.'),
  when: when.optional().describe('Needed, but of a plugin’s, which has its own.'),
  task: laterTask.optional().describe('What an agent is asked each time.'),
  agent: z.string().min(1).max(200).optional().describe('`orchestrator` if absent.'),
  model: z.string().min(1).max(200).optional(),
  tool: tool.optional().describe('Instead of a task: one call, without a model.'),
  input: input.optional().describe('Of `tool`.'),
  plugin: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,23}$/, 'must be the id of a plugin')
    .optional()
    .describe('Instead of a task: what this plugin’s manifest schedules, for you.'),
  check: check
    .optional()
    .describe('Called first, without a model: the firing goes on if it answers `shouldRun: true`.'),
  catchUp: z
    .enum(['skip', 'once', 'all'])
    .optional()
    .describe('What is done about slots that nobody fired in time; `once` if absent.'),
  notAfterMinutes: notAfterMinutes.optional(),
  overlap: z.enum(['skip', 'queue']).optional().describe('`skip` if absent.'),
  jitterSeconds: z.int().min(0).max(900).optional(),
  limits: runLimits.optional().describe('Of each firing.'),
  daily: z
    .strictObject({
      runs: z.int().min(1).max(1_440).optional(),
      tokens: z.int().min(1).optional(),
      costUsd: z.number().min(0).max(1_000_000).optional(),
    })
    .optional()
    .describe(
      'Of a day (UTC): how many firings begin (1,440), tokens (500,000) and cost (no limit).',
    ),
  stopAfterFailures: z.int().min(1).max(100).optional().describe('In a row; 3 if absent.'),
  deliver: deliver.optional().describe('`{ "to": "principal" }` if absent: your notices.'),
  heartbeat: z
    .boolean()
    .optional()
    .describe(
      'All firings work in one session of its own, which goes on, and tell nothing where ' +
        'there is nothing. Needs a check.',
    ),
  dryRun: z
    .boolean()
    .optional()
    .describe('Nothing is made: what it would be, with its next slots.'),
})
