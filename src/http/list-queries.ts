import * as z from 'zod'

/** A whole number in a query. */
export const digits = (max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number, 0 or more')
    .transform(Number)
    .pipe(z.int().max(max))

/** How many rows of a list, 1 to 500. */
export const listLimit = digits(500).refine((limit) => limit >= 1, 'must be 1 or more')

/** So many rows a page has where a list query names no limit. */
export const defaultListLimit = 100

/** A moment: epoch milliseconds or a UTC date. */
export const moment = z
  .string()
  .regex(/^(\d{1,15}|\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?)$/, 'must be epoch milliseconds or a UTC date')
  .transform((text) => (/^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text)))
  .refine((atMs) => Number.isFinite(atMs), 'must be epoch milliseconds or a UTC date')

/** A day in milliseconds. */
export const dayMs = 86_400_000
/** The longest time that a figure is asked for at once: 31 days. */
export const maxWindowMs = 31 * dayMs
