import type * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { toParam } from './json-shape.ts'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** Checks fields against a schema; throws `request_invalid` that names the first wrong one and what to do. */
export function parseFields<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  if (!issue) throw new IsolaError('request_invalid', 'The request is not valid.')
  const { path, text } = explain(issue, value, [])
  const param = toParam(path)
  throw new IsolaError(
    'request_invalid',
    param === '' ? `The request ${text}.` : `${param}: ${text}.`,
    {
      ...(param !== '' && { param }),
    },
  )
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
    if (inner && inner.path.length > 0) return explain(inner, value, path)
  }
  if (lookUp(value, path) === undefined)
    return { path, text: `is required (${decapitalize(issue.message)})` }
  return { path, text: decapitalize(issue.message) }
}

/** Of the ways a union could have matched, the one that came furthest. */
function closest(branches: readonly (readonly Issue[])[]): Issue | undefined {
  return branches
    .map((issues) => issues[0])
    .filter((issue) => issue !== undefined)
    .toSorted((a, b) => depthOf(b) - depthOf(a))[0]
}

function depthOf(issue: Issue): number {
  return issue.path.length
}

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
