import type { Administrator } from '#contracts/keys.ts'
import type { Principal } from '#contracts/operations.ts'
import { type ScheduleAsker, type ScheduleChanger } from '../types/schedule.ts'

/** The principal that changes a schedule, and the trace. */
export const changer = ({ principal, trace }: Administrator): ScheduleChanger => ({
  principal,
  trace,
})

/** The principal and the credential of the caller's schedules. */
export const askerOf = ({ id: principal, key, grant }: Principal): ScheduleAsker => ({
  principal,
  ...(key !== undefined && { key }),
  ...(grant !== undefined && { grant }),
})
