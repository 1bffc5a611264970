import { short } from './text.ts'
import { UsageError } from './usage.ts'

/** @param what As its user wrote it: `--limit`, `version`. */
export function toNumber(what: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`${what} is a whole number, not ${short(text, 40)}.`)
}
