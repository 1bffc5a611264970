import * as z from 'zod'
import { additive } from '#contracts/limit-requests.ts'

/** Limits of a session: the dimensions that add up over its runs. */
export const sessionLimits = z.strictObject(additive)
