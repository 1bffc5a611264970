import * as z from 'zod'
import { unlimited } from '#contracts/lease.ts'

/**
 * Two settings limit a day: `ISOLA_DAILY_TOKENS`, a whole number, and `ISOLA_DAILY_COST_USD`, US dollars as a decimal
 * number. A variable of `wrangler.toml` may be a number, a secret is text; empty means not set. Zero is a limit too:
 * no run may spend anything.
 */
export const dailyTokens = setting(/^\d{1,15}$/, 'must be a whole number, such as 2000000', Number)
/** `ISOLA_DAILY_COST_USD`, read into billionths of a US dollar; empty is no limit. */
export const dailyCostUsd = setting(
  /^\d{1,6}(\.\d{1,9})?$/,
  'must be an amount of US dollars, such as 25 or 2.50',
  toNanoUsd,
)

function setting(form: RegExp, message: string, toAmount: (text: string) => number) {
  return z
    .union([z.string(), z.number()], message)
    .optional()
    .transform((value) => String(value ?? '').trim())
    .refine((text) => text === '' || form.test(text), message)
    .transform((text) => (text === '' ? unlimited : toAmount(text)))
}

/** Reads the digits, since binary fractions cannot hold every decimal: a limit is exact to the billionth. */
function toNanoUsd(text: string): number {
  const [whole = '0', fraction = ''] = text.split('.')
  return Number(whole) * 1e9 + Number(fraction.padEnd(9, '0'))
}
