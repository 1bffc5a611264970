import * as z from 'zod'

/** A whole number in a query. */
export const digits = (max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number, 0 or more')
    .transform(Number)
    .pipe(z.int().max(max))

/** How many rows of a list, 1 to 500. */
export const listLimit = digits(500)
  .refine((limit) => limit >= 1, 'must be 1 or more')
  .describe('How many at most, 1 to 500; 100 if absent.')

/** The name of an agent, a principal or a plugin that something is looked for by. */
export const wantedName = z.string().min(1).max(200)
