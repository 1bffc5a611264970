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

/** A moment: epoch milliseconds or a UTC date. */
export const moment = z
  .string()
  .regex(/^(\d{1,15}|\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?)$/, 'must be epoch milliseconds or a UTC date')
  .transform((text) => (/^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text)))
  .refine((atMs) => Number.isFinite(atMs), 'must be epoch milliseconds or a UTC date')

/** The name of an agent, a principal or a plugin that something is looked for by. */
export const wantedName = z.string().min(1).max(200)

/** A persona, or `none`: without any. Which there are is looked up. */
export const personaName = z.string().min(1).max(64)

/** What somebody is called: the owner of keys, sessions and limits. Also what a key of a publisher is called. */
export const principalName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._@+-]{0,63}$/,
    'must be 1 to 64 lowercase letters, digits or . _ @ + -, and begin with a letter or digit',
  )
