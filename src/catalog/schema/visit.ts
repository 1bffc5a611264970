import type { Json } from '#contracts/json.ts'
import type { SafeSchema } from './safe-schema.ts'
import type { Work } from './work.ts'

/** The first thing that is wrong: which keyword of the schema, what it says, and where in the value. */
export interface Finding {
  readonly path: readonly string[]
  readonly keyword: string
  readonly setting?: unknown
  /** A property that is not there. */
  readonly missing?: string
}

/** Where in the value, from the innermost name outwards. */
interface Place {
  readonly name: string
  readonly above: Place | undefined
}

/** Names and indices that something in the schema has looked at, for `unevaluated…`. */
interface Seen {
  readonly own: Set<string>
  readonly above?: Seen
}

/** One schema against one value. */
export interface Visit<T extends Json = Json> {
  readonly schema: Readonly<Record<string, unknown>>
  readonly value: T
  readonly place: Place | undefined
  /** Absent where no keyword asks for it. */
  readonly seen: Seen | undefined
  readonly run: Run
}

/** What one validation has in hand. */
export interface Run extends Pick<SafeSchema, 'lookup' | 'asksUnevaluated'> {
  readonly work: Work
  /** What is wrong with the value by a schema. */
  readonly findingOf: (schema: unknown, visit: Omit<Visit, 'schema'>) => Finding | undefined
}

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

/** What is wrong with what lies in the value, under this name. */
export function findingIn(
  { place, run }: Visit,
  schema: unknown,
  name: string,
  value: Json = null,
): Finding | undefined {
  return run.findingOf(schema, { value, place: { name, above: place }, seen: unseen(run), run })
}

export const unseen = ({ asksUnevaluated }: Run, above?: Seen): Seen | undefined =>
  asksUnevaluated ? { own: new Set(), ...(above && { above }) } : undefined

export function hasSeen({ seen, run }: Visit, name: string): boolean {
  for (let at = seen; at; at = at.above) {
    run.work.spend(1)
    if (at.own.has(name)) return true
  }
  return false
}

export function addSeen({ seen, run }: Visit, other: Seen | undefined): void {
  if (!seen || !other) return
  run.work.spend(other.own.size)
  for (const name of other.own) seen.own.add(name)
}
