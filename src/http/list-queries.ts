import { z } from 'zod'

/** A whole number in a query. */
export const digits = (max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().max(max))

/** How many rows of a list, 1 to 500. */
export const listLimit = digits(500).refine((limit) => limit >= 1, 'must be 1 or more')

export const defaultListLimit = 100
