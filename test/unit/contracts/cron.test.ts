import { describe, expect, it } from 'vitest'
import { cronProblem } from '#contracts/schedule-requests.ts'
import { nextSlot, nextSlots } from '../../../src/features/schedules/slots.ts'
import { createRandom } from '../../fakes/random.ts'

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

describe('A23: an expression that the scheduler does not take, or that never fires, is refused with its field', () => {
  it.each([
    ['0/15 * * * *', /^the minute, "0\/15".*0-59\/15/],
    ['5/15 * * * *', /^the minute.*5-59\/15/],
    ['0 0/6 * * *', /^the hour.*0-23\/6/],
    ['0 9 1/2 * *', /^the day of the month/],
    ['0 9 * jan/2 *', /^the month/],
    ['0 9 * * mon/2', /^the day of the week/],
    ['/15 * * * *', /^the minute/],
    ['*/90 * * * *', /^the minute/],
    ['0 22-2 * * *', /^the hour/],
    ['0 0 * * fri-mon', /^the day of the week/],
    ['0 0 1,,2 * *', /^the day of the month/],
    ['0 0 * january *', /^the month/],
    ['0 0 * * 5#9', /^the day of the week/],
    ['H * * * *', /^the minute/],
    ['0 9 * * *\u200b', /^the day of the week/],
    ['@hourly', /five fields/],
    ['@every 5m', /five fields/],
    ['0 0 0 1 1 * 2030', /five fields.*has 7/],
    ['0 0 30 2 *', /never due/],
    ['0 0 31 2,4,6,9,11 *', /never due/],
    ['0 9 30W 2 *', /never due/],
  ])('%s', (text, message) => expect(cronProblem(text)).toMatch(message))

  it.each([
    ['0 9 L * *', ['2026-01-31', '2026-02-28']],
    ['0 9 15W * *', ['2026-01-15', '2026-02-16']],
    ['0 9 * * 5#2', ['2026-01-09', '2026-02-13']],
    ['0 9 * * 5L', ['2026-01-30', '2026-02-27']],
    ['0 9 ? * 1', ['2026-01-05', '2026-01-12']],
    ['0 9 29 2 *', ['2028-02-29', '2032-02-29']],
    ['0 9 * * 0-7', ['2026-01-01', '2026-01-02']],
    ['*/60 9 * * *', ['2026-01-01', '2026-01-02']],
  ])('takes %s and fires as it says', (cron, days) => {
    expect(cronProblem(cron)).toBeUndefined()
    const slots = nextSlots({ cron, timeZone: 'UTC' }, Date.UTC(2026, 0, 1), 2)
    expect(slots.map((at) => new Date(at).toISOString())).toEqual(
      days.map((day) => `${day}T09:00:00.000Z`),
    )
  })

  it('takes nothing that the scheduler then refuses or never fires', () => {
    const random = createRandom(23)
    const pick = (of: readonly string[]) => of[random.int(0, of.length - 1)]!
    const part = () =>
      pick(['*', '?', '0', '5', '15', '31', '60', '0/15', '*/5', '1-5', '5-1', '1-5/2', 'L', '5L'])
    const other = () => pick(['W', '15W', '5#2', 'mon', 'jan', 'mon-fri', '1,2', '30', '2', '+5'])
    for (let round = 0; round < 3_000; round += 1) {
      const fields = Array.from({ length: 5 }, () => (random.next() < 0.7 ? part() : other()))
      const cron = fields.join(' ')
      if (cronProblem(cron) !== undefined) continue
      expect([cron, nextSlot({ cron, timeZone: 'Europe/Berlin' }, 0)]).toEqual([
        cron,
        expect.any(Number),
      ])
    }
  })
})
