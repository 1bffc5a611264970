import { headOf } from './cut.ts'
const fields = [
  { name: 'minute', min: 0, max: 59, words: [] },
  { name: 'hour', min: 0, max: 23, words: [] },
  { name: 'day of the month', min: 1, max: 31, words: [] },
  {
    name: 'month',
    min: 1,
    max: 12,
    words: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  {
    name: 'day of the week',
    min: 0,
    max: 7,
    words: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
  },
] as const

type Field = (typeof fields)[number]

/**
 * What is wrong with a cron expression of five fields, or `undefined`. A field is `*`, a number, a range, any of them
 * with a step (`0-30/5`), or several with commas; months and days of the week have names too.
 */
export function cronProblem(text: string): string | undefined {
  const given = text.trim().split(/\s+/)
  if (given.length !== fields.length)
    return `must be a cron expression of five fields (minute, hour, day, month, day of the week), such as "0 */4 * * *"; it has ${given.length}`
  const wrong = fields.find(
    (field, index) => !given[index]!.split(',').every((part) => isPart(part, field)),
  )
  if (!wrong) return undefined
  const { name, min, max } = wrong
  return `the ${name}, "${headOf(given[fields.indexOf(wrong)]!, 40)}", must be *, a number from ${min} to ${max}, a range or a list of those, with a step if wanted: */4`
}

function isPart(part: string, field: Field): boolean {
  const [range = '', step, ...more] = part.split('/')
  if (more.length > 0) return false
  if (step !== undefined && !(isNumber(step) && Number(step) >= 1 && Number(step) <= field.max))
    return false
  if (range === '*') return true
  const ends = range.split('-').map((end) => toValue(end, field))
  if (ends.length > 2 || ends.includes(undefined)) return false
  const [from, to = from] = ends
  return from! <= to!
}

const isNumber = (text: string): boolean => /^\d{1,2}$/.test(text)

function toValue(text: string, { words, min, max }: Field): number | undefined {
  const word = (words as readonly string[]).indexOf(text.toLowerCase())
  const value = word >= 0 ? word + min : isNumber(text) ? Number(text) : undefined
  return value !== undefined && value >= min && value <= max ? value : undefined
}
