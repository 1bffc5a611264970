import * as z from 'zod'
import { scheduleRequest, check, notAfterMinutes, timeZone } from '#contracts/schedule-requests.ts'
import { runLimits } from '#contracts/limits.ts'
import type { ScheduleRequestBody } from '#runtime/session/types/schedule.ts'
import { wantedName, listLimit, digits } from '#contracts/query-fields.ts'
import { refuseHidden } from '#contracts/visible-text.ts'

const maxYears = 10

const { plugin: _, ...changeable } = scheduleRequest.shape

/** `POST /api/schedules/:id`: a given field is changed, a null field is removed. */
export const scheduleChange = z.strictObject({
  ...changeable,
  check: check.nullish(),
  notAfterMinutes: notAfterMinutes.nullish(),
  limits: runLimits.nullish(),
})

export type ScheduleChangeBody = z.infer<typeof scheduleChange>

/** The forms of `when` in a request. */
export type AskedWhen = NonNullable<ScheduleRequestBody['when']>

/** `GET /api/schedules`. */
export const schedulesQuery = z.strictObject({
  principal: wantedName.optional(),
  limit: listLimit.optional(),
  after: z.string().max(40).optional(),
})

/** `GET /api/schedules/:id/history`. */
export const historyQuery = z.strictObject({
  limit: listLimit.optional(),
  before: digits(maxYears * 366 * 86_400_000 + 4_102_444_800_000).optional(),
})

/** `POST /api/schedules/:id/pause`. */
export const pauseRequest = z.strictObject({
  reason: z.string().min(1).max(500).superRefine(refuseHidden('text')).optional(),
})

/** `GET /api/notices`. */
export const noticesQuery = z.strictObject({ limit: listLimit.optional() })

/** `POST /api/settings`. */
export const settingsRequest = z.strictObject({
  timeZone: timeZone.optional(),
  language: z
    .string()
    .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, 'must be a language tag, such as de or pt-BR')
    .optional(),
})
