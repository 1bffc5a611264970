import type * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { invalidField, toParam } from './json-shape.ts'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** Checks fields against a schema; throws `request_invalid` that names the first faulty field and the remedy. */
export function parseFields<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  if (!issue) throw new IsolaError('request_invalid', 'The request is not valid.')
  const { path, text } = explain(issue, value, [])
  throw invalidField(toParam(path), `${text}.`, `The request ${text}.`)
}

function explain(issue: Issue, value: unknown, above: Path): { path: Path; text: string } {
  const path = [...above, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    return {
      path: [...path, issue.keys[0] ?? ''],
      text: 'is not a field of this request; remove it',
    }
  }
  if (issue.code === 'invalid_union') {
    const inner = closest(issue.errors)
    if (inner && depthOf(inner) > 0) return explain(inner, value, path)
  }
  if (lookUp(value, path) === undefined)
    return { path, text: `is required (${decapitalize(issue.message)})` }
  return { path, text: decapitalize(issue.message) }
}

/** The branch of a union that was meant: it knows most of the fields, and came furthest. */
function closest(branches: readonly (readonly Issue[])[]): Issue | undefined {
  return branches
    .flatMap((issues) => {
      const [first] = issues
      if (!first) return []
      const strangers = issues.flatMap((one) =>
        one.code === 'unrecognized_keys' && one.path.length === 0 ? one.keys : [],
      ).length
      return [{ first, strangers, depth: depthOf(first) }]
    })
    .toSorted(
      (a, b) =>
        Math.sign(b.depth) - Math.sign(a.depth) || a.strangers - b.strangers || b.depth - a.depth,
    )[0]?.first
}

/** An error about an unexpected field names that field, which is one level below the error's path. */
const depthOf = ({ code, path }: Issue): number =>
  path.length + (code === 'unrecognized_keys' ? 1 : 0)

function lookUp(value: unknown, path: Path): unknown {
  let at = value
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined
    at = Reflect.get(at, key)
  }
  return at
}

function decapitalize(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
