import { Cron } from 'croner'
import { headOf } from './cut.ts'

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
    return `must be a cron expression of five fields (minute, hour, day, month, day of the week), such as "0 */4 * * *"; it has ${given.length}`
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
  return `the ${name}, "${headOf(given, 40)}", must be *, a number from ${min} to ${max}, a range or a list of those, with a step if wanted: */4${meant}`
}
