import type { Json } from '#contracts/json.ts'
import type { SafeSchema } from './safe-schema.ts'

/** The most that one validation may cost. A visit to a schema node costs 50; lists, names and texts cost extra. */
const maxWork = 10_000_000
/** Well below the stack's limit for code that is not optimized yet: 815 of `dependentSchemas`, 1,043 of `anyOf`. */
const maxDepth = 500

/** Listing a name of an object, or looking it up, costs more than a step. */
export const nameCost = 10

/** Thrown where a check would take more than it may. */
export class TooMuchWork extends Error {}

/** Counts the work of a validation, step by step. */
export interface SchemaWork {
  /** Throws `TooMuchWork` when there is no more. */
  readonly spend: (units: number) => void
  /** Runs one level deeper. */
  readonly within: <T>(run: () => T) => T
  readonly spent: () => number
}

/** Counts from nothing; throws `TooMuchWork` beyond `max`. */
export function createWork(max = maxWork): SchemaWork {
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

/** The first fault: the keyword of the schema, its setting, and the place in the value. */
export interface Finding {
  readonly path: readonly string[]
  readonly keyword: string
  readonly setting?: unknown
  /** A property that is not there. */
  readonly missing?: string
}

/** A place in the value, from the innermost name outwards. */
interface Place {
  readonly name: string
  readonly above: Place | undefined
}

/** Names and indices that something in the schema has looked at, for `unevaluated…`. */
type Seen = Set<string>

/** The evaluation of one value by one schema. */
export interface Visit<T extends Json = Json> {
  readonly schema: Readonly<Record<string, unknown>>
  readonly value: T
  readonly place: Place | undefined
  /** Absent where no keyword asks for it. */
  readonly seen: Seen | undefined
  readonly run: Validation
}

/** The state of one validation. */
export interface Validation extends Pick<SafeSchema, 'targets' | 'asksUnevaluated'> {
  readonly work: SchemaWork
  /** The first fault of the value by a schema. */
  readonly findingOf: (schema: unknown, visit: Omit<Visit, 'schema'>) => Finding | undefined
}

/** A finding at the place of a visit. */
export function findingAt(
  { place, run }: Pick<Visit, 'place' | 'run'>,
  keyword: string,
  more: Pick<Finding, 'setting' | 'missing'> = {},
): Finding {
  const path: string[] = []
  for (let at = place; at; at = at.above) path.push(at.name)
  run.work.spend(path.length)
  return { path: path.toReversed(), keyword, ...more }
}

/** The first fault of a value inside this one, under this name. */
export function findingIn(
  { place, run }: Visit,
  schema: unknown,
  name: string,
  value: Json = null,
): Finding | undefined {
  return run.findingOf(schema, { value, place: { name, above: place }, seen: unseen(run), run })
}

/**
 * The first fault of the value itself by a nested schema: a branch, a reference. Properties that the nested schema
 * evaluates count as evaluated for the outer one once the value fits; the nested schema sees none that the outer one
 * has evaluated (2020-12, 11).
 */
export function findingBeside(visit: Visit, schema: unknown): Finding | undefined {
  const { seen, run } = visit
  const own = unseen(run)
  const found = run.findingOf(schema, { ...visit, seen: own })
  if (found || !seen || !own) return found
  run.work.spend(seenCost * own.size)
  for (const name of own) seen.add(name)
  return undefined
}

/** The set of evaluated members; undefined if the schema never needs it. */
export const unseen = ({ asksUnevaluated }: Validation): Seen | undefined =>
  asksUnevaluated ? new Set() : undefined

/** Whether a keyword has looked at this member. */
export function hasSeen({ seen, run }: Visit, name: string): boolean {
  run.work.spend(seenCost)
  return seen?.has(name) ?? false
}

const seenCost = 4
