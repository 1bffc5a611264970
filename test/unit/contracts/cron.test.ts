import { describe, expect, it } from 'vitest'
import { cronProblem } from '#contracts/cron.ts'

describe('Y10: a cron expression', () => {
  it.each([
    '* * * * *',
    '0 */4 * * *',
    '0-30/5 1,2,3 1-15 JAN-mar mon-fri',
    '59 23 31 12 7',
    '  0 9 * * 1 ',
  ])('takes %j', (text) => expect(cronProblem(text)).toBeUndefined())

  it.each([
    ['', /five fields/],
    ['* * * *', /five fields.*has 4/],
    ['0 0 * * * *', /five fields.*has 6/],
    ['@daily', /five fields/],
    ['60 * * * *', /^the minute, "60"/],
    ['* 24 * * *', /^the hour/],
    ['* * 0 * *', /^the day of the month/],
    ['* * * 13 *', /^the month/],
    ['* * * * 8', /^the day of the week/],
    ['5-1 * * * *', /^the minute/],
    ['1-2-3 * * * *', /^the minute/],
    ['*/0 * * * *', /^the minute/],
    ['*/5/5 * * * *', /^the minute/],
    ['1, * * * *', /^the minute/],
    ['-1 * * * *', /^the minute/],
    ['1.5 * * * *', /^the minute/],
    ['* * * mon *', /^the month/],
  ])('refuses %j and says what to do', (text, message) =>
    expect(cronProblem(text)).toMatch(message),
  )
})
