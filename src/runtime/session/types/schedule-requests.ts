import * as z from 'zod'
import { scheduleRequest } from '#contracts/schedule-requests.ts'

export type ScheduleRequestBody = z.infer<typeof scheduleRequest>
