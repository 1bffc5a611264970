import * as z from 'zod'

/** A moment: epoch milliseconds or a UTC date. */
export const moment = z
  .string()
  .regex(/^(\d{1,15}|\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?)$/, 'must be epoch milliseconds or a UTC date')
  .transform((text) => (/^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text)))
  .refine((atMs) => Number.isFinite(atMs), 'must be epoch milliseconds or a UTC date')
