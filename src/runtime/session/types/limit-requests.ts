import * as z from 'zod'
import { additive } from '#contracts/limits.ts'

/** Limits of a session: the dimensions that add up over its runs. */
export const sessionLimits = z.strictObject(additive)
