/** The most that one validation may cost. A visit to a schema node costs 50; lists, names and texts cost extra. */
const maxWork = 10_000_000
/** Well below the stack's limit for code that is not optimized yet: 815 of `dependentSchemas`, 1,043 of `anyOf`. */
const maxDepth = 500

/** Listing a name of an object, or looking it up, costs more than a step. */
export const nameCost = 10

/** Thrown where a check would take more than it may. */
export class TooMuchWork extends Error {}

/** Counts the work of a validation, step by step. */
export interface Work {
  /** Throws `TooMuchWork` when there is no more. */
  readonly spend: (units: number) => void
  /** Runs one level deeper. */
  readonly within: <T>(run: () => T) => T
  readonly spent: () => number
}

/** Counts from nothing; throws `TooMuchWork` beyond `max`. */
export function createWork(max = maxWork): Work {
  let spent = 0
  let depth = 0
  return {
    spend(units) {
      spent += units
      if (spent > max) throw new TooMuchWork()
    },
    within(run) {
      depth += 1
      if (depth > maxDepth) throw new TooMuchWork()
      const result = run()
      depth -= 1
      return result
    },
    spent: () => spent,
  }
}
