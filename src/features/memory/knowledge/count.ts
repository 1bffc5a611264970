import { IsolaError } from '#contracts/errors.ts'

/** Counts what a document is made of, and stops its reader at a limit that the error names. */
export interface Count {
  /** Throws `request_invalid`. */
  readonly add: () => void
}

/** At most so many of what a field has. */
export function createCount(param: string, most: number, what: string): Count {
  let count = 0
  return {
    add(): void {
      count += 1
      if (count <= most) return
      const message = `${param}: has more than ${most.toLocaleString('en')} ${what}: send it in parts.`
      throw new IsolaError('request_invalid', message, { param })
    },
  }
}
