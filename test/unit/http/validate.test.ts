import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { scheduleRequest } from '../../../src/contracts/schedule-requests.ts'
import { subscriptionRequest } from '../../../src/features/schedules/types/schedule-requests.ts'
import { parseFields } from '../../../src/platform/routes/validate.ts'

const moment = '2026-12-24T18:00:00+01:00'
const said = (schema: z.ZodType, value: unknown): string => {
  try {
    parseFields(schema, value)
    return 'taken'
  } catch (error) {
    return String(error)
  }
}

describe('the refusal of a request that has several forms', () => {
  it.each([
    [{ at: Array.from({ length: 101 }, () => moment) }, /when\.at: .*100/],
    [{ at: ['tomorrow'] }, /when\.at\[0\]: must be a moment with its offset/],
    [{ everyMinutes: 0 }, /when\.everyMinutes: /],
    [{ cron: '0 9 * * *', zone: 'x' }, /when\.zone: is not a field of this request; remove it/],
    [{ everyMinutes: 5, hours: 'day' }, /when\.hours: must be whole hours/],
  ])('is about the way that was meant: %j', (when, expected) => {
    expect(said(scheduleRequest, { task: 'Go.', when })).toMatch(expected)
  })

  it('is of the deeper way where another one is no object at all', () => {
    const schema = z.strictObject({ of: z.union([z.string(), z.strictObject({ a: z.number() })]) })
    expect(said(schema, { of: { a: 'x', b: 1 } })).toMatch(/of\.a: /)
  })
})

describe('a subscription that could never hear anything', () => {
  const subscribe = (event: string, where?: object) =>
    said(subscriptionRequest, { event, task: 'Go.', ...(where && { where }) })

  it.each([
    ['isola.nope', undefined, /event: is no event that there is: isola\.\* is run_finished, /],
    ['isola.toString', undefined, /event: /],
    ['isola.run_finished', { agent: 'front' }, /where\.agent: .* there is only state, turns, code/],
    ['isola.run_parked', { pauses: 'x' }, /where\.pauses: .* there is none/],
    ['isola.*', { amount: 5 }, /where\.amount: is no field of isola\.\*/],
  ])('Y28: is refused with what there is: %s %j', (event, where, expected) => {
    expect(subscribe(event, where)).toMatch(expected)
  })

  it.each([
    ['isola.run_finished', { state: 'failed' }],
    ['isola.schedule_missed', { reason: 'late' }],
    ['isola.*', { state: 'failed' }],
    ['billing.paid', { anything: 1 }],
  ])('Y28: is told from one that can: %s %j', (event, where) => {
    expect(subscribe(event, where)).toBe('taken')
  })
})
